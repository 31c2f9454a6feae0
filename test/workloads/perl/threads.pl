# Interpreters of their own in threads, at different depths.
use strict; use warnings; use threads; require "$ENV{WL}/burn.pl";
sub runs { my $depth = shift; level($depth) while 1 }
sub level { my $n = shift; $n > 0 ? level($n - 1) : Burn::burn() }
my @threads = map { my $n = $_; threads->create('runs', 4 * $n) } 1 .. 2;
push @threads, threads->create(sub { while (1) { my @s = sort { Burn::burn(); $a <=> $b } 2, 1 } });
level(1) while 1;
