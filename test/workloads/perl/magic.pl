# Subs that the interpreter calls: tied variables, overloaded operators, destructors, handlers.
require "$ENV{WL}/burn.pl";
package Tied; sub TIESCALAR { bless [] } sub FETCH { Burn::burn(); 1 } sub STORE { helper() }
sub TIEHASH { bless {} } sub EXISTS { Burn::burn(); 0 } sub helper { Burn::burn() }
package Over; use overload '+' => sub { Burn::burn(); 1 }, '""' => \&text, '<=>' => sub { Burn::burn(); 0 };
sub text { Burn::burn(); "t" } sub new { bless [], shift }
package Gone; sub new { bless [], shift } sub DESTROY { Tied::helper(); Burn::burn() }
package main;
tie my $scalar, 'Tied'; tie my %hash, 'Tied';
sub reads { my $x = $scalar; $scalar = 2; my $e = exists $hash{a}; $x }
sub adds { my $o = Over->new; my $sum = $o + 1;
  my $text = "$o"; my @s = sort { $a <=> $b } $o, Over->new; $text }
sub frees { { my $g = Gone->new } my @list = map { Gone->new } 1 .. 2; 1 }
$SIG{__WARN__} = sub { Burn::burn() }; $SIG{__DIE__} = sub { Burn::burn() };
sub warns { warn "w\n"; eval { die "d\n" }; 1 }
$SIG{ALRM} = sub { Burn::burn(); on_signal() }; sub on_signal { Burn::burn() }
sub waits { kill ALRM => $$; my $t = 0; $t += $_ for 1 .. 1000; $t }
while (1) { reads(); adds(); frees(); warns(); waits() }
