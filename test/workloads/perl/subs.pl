# Subs of all kinds, and the ways to call them.
use strict; use warnings; no warnings qw(recursion redefine once); use feature qw(current_sub lexical_subs);
no warnings qw(experimental);
require "$ENV{WL}/burn.pl";
package Shape; sub new { bless [], shift } sub area { my $self = shift; $self->size } sub size { Burn::burn() }
package Square; our @ISA = 'Shape'; sub size { my $self = shift; $self->SUPER::size(1) }
our $AUTOLOAD; sub AUTOLOAD { my $name = $AUTOLOAD; return if $name =~ /DESTROY/; Burn::burn() }
package main;
my sub lexical { Burn::burn() } my sub lexical_deep { $_[0] ? __SUB__->($_[0] - 1) : lexical() }
sub counter { my $n = shift; sub { $n++; Burn::burn() } }
sub jumps { goto &Shape::size } sub passes { &Shape::size }
sub deep { my $n = shift; return Burn::burn() if $n <= 0; my $r = deep($n - 1); $r }
sub Other::Package::here { Burn::burn() }
sub matches { my $s = "abc"; $s =~ s/b/Burn::burn(); 'x'/e; $s =~ /a(?{ Burn::burn() })/; $s }
{ no strict 'refs'; *{"main::gr\x{f6}\x{df}e"} = sub { Burn::burn() }; *alias = \&counter }
eval "use utf8; sub \x{3b1}\x{3b2} { Burn::burn() } 1"; my $greek = main->can("\x{3b1}\x{3b2}");
my ($first, $second) = (counter(1), counter(2));
while (1) {
  Shape->new->area; Square->new->area; Square->new->not_there; lexical_deep(3); $first->(); $second->();
  jumps(); passes(); deep(40); Other::Package::here(); matches();
  main->can("gr\x{f6}\x{df}e")->(); $greek->() if $greek; my $name = "area"; Square->new->$name;
}
