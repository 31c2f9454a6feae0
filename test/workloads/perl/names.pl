# Subs with long names, with control characters, and in several encodings.
use Sub::Util 'set_subname';
my $spin = sub { my $t = 0; $t += $_ for 1 .. 20000 };
my @subs = map { set_subname("main::$_", sub { $spin->(1); 1 }) } "n" x 3000, "e\e[31mred", "caf\xe9", "\x{263a}";
while (1) { $_->() for @subs }
