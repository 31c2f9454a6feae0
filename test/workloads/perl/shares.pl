# Uses the CPU in four kinds of subs: 40, 30, 20 and 10 of 100.
use strict; use warnings; use feature qw(lexical_subs); no warnings qw(experimental);
use Time::HiRes qw(clock);
sub until_spent { my $end = clock() + $_[0] * 0.001; return $end }
sub named { my $end = until_spent(40); while (clock() < $end) { my $t = 0; for my $k (1 .. 3000) { $t += $k } } }
sub Some::Package::method { my $end = main::until_spent(30); while (clock() < $end) { my $t = 0; for my $k (1 .. 3000) { $t += $k } } }
my $anonymous = sub { my $end = until_spent(20); while (clock() < $end) { my $t = 0; for my $k (1 .. 3000) { $t += $k } } };
my sub lexical { my $end = until_spent(10); while (clock() < $end) { my $t = 0; for my $k (1 .. 3000) { $t += $k } } }
while (1) { named(); Some::Package->method; $anonymous->(); lexical() }
