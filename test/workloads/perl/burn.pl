# What all programs call: it writes down the stack as caller() sees it, once for each different one, and
# uses the CPU on one line then. A line of the truth: frames "name|file of the call|line of the call",
# innermost first, separated by tabs.
package Burn;
our %seen;
our $N = $ENV{BURN_N} || 40000;
our $QUIET = 0;

sub burn {
  my ($i, @frames) = (0);
  unless ($QUIET) {
    local ($@, $SIG{__DIE__}, $SIG{__WARN__});
    while (1) {
      my @c = eval { (caller($i))[0 .. 3] };    # of a format it dies
      last if !@c && !$@;
      $i++;
      # eval itself is a frame.
      next if $i == 1;
      if (!@c) { push @frames, "?|?|0"; next }
      my $name = $c[3];
      utf8::encode($name) if utf8::is_utf8($name) || $name =~ /[\x80-\xff]/;
      push @frames, "$name|$c[1]|$c[2]";
    }
    my $line = join("\t", @frames) . "\n";
    if (!$seen{$line}++ && open my $truth, '>>', $ENV{BURN_TRUTH}) {
      syswrite $truth, $line;
      close $truth;
    }
  }
  my $t = 0;
  for my $k (1 .. $N) { $t += $k ^ ($t & 7) }
  return $t;
}
1;
