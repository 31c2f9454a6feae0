# As deep as it is told: in different subs (chain) or in one (recursion), and then in a loop.
my ($depth, $shape) = @ARGV;
my $spin = 'while (1) { my $t = 0; for my $k (1 .. 50000) { $t += $k } }';
my $source = $shape eq 'chain'
  ? join('', map { my $next = $_ + 1; "sub f$_ { " . ($_ < $depth ? "my \$x = f$next(); return \$x" : $spin) . " }\n" } 1 .. $depth)
  : "sub r { my \$n = shift; if (\$n > 1) { my \$x = r(\$n - 1); return \$x } $spin }\n";
no warnings;
eval $source . ($shape eq 'chain' ? 'f1()' : "r($depth)");
