# Conditions that have a line of their own within a statement, and calls that go over several lines.
require "$ENV{WL}/burn.pl";
sub nay { Burn::burn(); 0 }
sub yea { Burn::burn(); 1 }
my $left;
sub some { Burn::burn(); $left-- > 0 }
sub chain {
  my $x = 1;
  if (nay()) {
    $x = 2;
  }
  elsif (nay() ||
    nay()) {
    $x = 3;
  }
  elsif (yea()) {
    $x = 4;
  }
  $x;
}
sub loops {
  $left = 2;
  my $count = 0;
  while (some()) {
    $count++;
  }
  $left = 1;
  until (!some()) {
    $count++;
    yea();
  }
  for (my $i = 0;
    $i < 1 && yea();
    $i += yea()) {
    $count++;
  }
  $count;
}
sub lists {
  my @all = (
    yea(),
    chain(),
    loops(),
  );
  my %of = map { $_ => nay() } 1 .. 2;
  do { nay() } while (nay());
  return yea()
    ? $all[0]
    : $all[1] unless nay();
}
while (1) {
  lists();
}
