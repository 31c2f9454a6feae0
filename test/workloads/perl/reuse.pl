# Subs that are made, called, freed and made again at the same address under another name: each is on the line
# of its number in the file "made", and is called by a closure with the same number.
use strict; use warnings; no warnings 'redefine';
use Sub::Util qw(set_subname);
my $n = 0;
while (1) {
  $n = $n % 30000 + 1;
  no strict 'refs';
  eval qq{#line $n "made"\nsub made_$n { my \$t = 0; for my \$k (1 .. 300) { \$t += \$k } \$t }\n1} or die;
  my $made = \&{"main::made_$n"};
  my $closure = set_subname("main::closure_$n", sub { $made->($n) });
  $closure->() for 1 .. 3;
  undef $made; undef $closure;
  undef &{"main::made_$n"};
  delete $main::{"made_$n"};
}
