# Subs that modules written in C call, and formats.
require "$ENV{WL}/burn.pl"; use List::Util qw(first reduce any);
sub adds { Burn::burn(); $_[0] + $_[1] }
sub lists { my $x = first { Burn::burn(); $_ > 1 } 1 .. 3; $x = reduce { adds($a, $b) } 1 .. 3;
  $x = any { Burn::burn(); 0 } 1, 2; first(sub { adds(1, 2); 1 }, 1) }
while (1) { lists() }
