# Lives for a few milliseconds in four subs, deep in calls.
package Short::Work;
sub inner { my $t = 0; for my $k (1 .. 2000) { $t += $k ^ ($t & 7) } $t }
sub middle { my $s = 0; $s += inner($_) for 1 .. 5; $s }
package main;
my $outer = sub { Short::Work::middle() + Short::Work::middle() };
sub all { $outer->() for 1 .. $ARGV[0]; }
all();
