# Code that is compiled while the program runs, and the blocks around it.
require "$ENV{WL}/burn.pl"; use strict; no warnings;
sub by_string { eval 'Burn::burn(); inner_sub()' } sub inner_sub { Burn::burn() }
sub by_block { eval { Burn::burn(); die { code => 1 } }; Burn::burn() if $@ }
sub nested { eval { eval q{ my $f = sub { Burn::burn() }; $f->() }; by_block() } }
sub numbered { eval "#line 70 \"templates/page\"\nmy \$x = 1;\nBurn::burn();\n" }
unshift @INC, sub { my ($self, $file) = @_; return unless $file =~ /^Made/;
  my $source = "package Made;\nsub import { Burn::burn() }\nBurn::burn();\n1;\n"; open my $in, '<', \$source; $in };
sub requires { delete $INC{'Made.pm'}; require Made; Made->import }
sub begins { eval 'BEGIN { Burn::burn() } sub never { } 1' }
while (1) { by_string(); by_block(); nested(); numbered(); requires(); begins() }
