# Forks as many workers as it is told, which all run the same subs.
sub task { my $t = 0; for my $k (1 .. 5000) { $t += $k } step($t) }
sub step { my $t = 0; for my $k (1 .. 5000) { $t += $k } $t }
my $parent = $$;
for (1 .. $ARGV[0] - 1) { last unless fork }
while ($$ == $parent || getppid == $parent) { task() }
