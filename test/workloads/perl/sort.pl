# Comparison subs of all kinds: named, with a prototype, anonymous, a block, nested.
require "$ENV{WL}/burn.pl"; my $n = 0;
sub by_number { Burn::burn() if $n++ % 4 == 0; $a <=> $b }
sub by_prototype ($$) { my ($x, $y) = @_; Burn::burn() if $n++ % 4 == 0; $x <=> $y }
sub within { my @inner = sort by_number 2, 1;
  Burn::burn() if $n++ % 4 == 0; $a <=> $b }
sub outer { my @sorted = sort { within() } 3, 1, 2; @sorted }
my $anonymous = sub { Burn::burn() if $n++ % 4 == 0; $a <=> $b };
while (1) {
  my @s = sort by_number 4, 2, 1; @s = sort by_prototype 4, 2, 1; @s = sort $anonymous 3, 2, 1;
  @s = sort { Burn::burn(); $a <=> $b } 2, 1;
  outer();
}
