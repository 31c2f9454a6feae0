# Calls are all that it does, so that samples hit every instruction of a call. Each sub is on the line that its name
# says, and `calls` says which sub may call which: every frame and every caller can be checked.
use strict; use warnings;
# calls: (main) L8; (main) L14; (main) L15; L8 L9; L8 L10; L9 L11; L9 L12; L10 L13; L10 L12
# calls: L13 L12; L14 L12; L14 L15; L15 L15; L15 L16; L16 L12; L16 L17; L16 L18; L17 L12; L18 L12
# calls: L16 L19; L8 L20; (main) L20; L20 (eval); (eval) L12; L19 L12; L16 (eval); (eval) L18
my $over; my $unused = 0;
sub L8 { my $x = shift; L9($x); L10($x, 1); L20($x); return $x }
sub L9 { my ($x) = @_; return L11($x) + L12($x, 2) }
sub L10 { L13(@_); L12($_[0]) }
sub L11 { 1 }
sub L12 { 1 }
sub L13 { my @r = map { L12($_) } 1 .. 3; @r }
sub L14 { my @s = sort { L12(); $a <=> $b } 3, 1, 2; L15(@s) }
sub L15 { my $n = shift; $n > 0 ? L15($n - 1) : L16() }
sub L16 { my $s = "abc"; $s =~ s/b/L12()/e; my $t = Thing->new; my $u = $t + 1; L19(); 1 }
package Thing; use overload '+' => \&main::L17; sub main::L17 { main::L12() } sub new { bless [], shift }
sub DESTROY; *DESTROY = \&main::L18; sub main::L18 { main::L12() } package main;
sub L19 { my $f = sub { 1 }; $f->(); L12() }
sub L20 { eval { L12(2) }; 1 }
while (1) { L8(1); L14(); L15(3); L20() }
