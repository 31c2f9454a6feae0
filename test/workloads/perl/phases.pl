# Blocks that run before and after the program, long enough to be met.
BEGIN { require "$ENV{WL}/burn.pl"; Burn::burn() for 1 .. 60; sub in_begin { Burn::burn() } in_begin() for 1 .. 60 }
UNITCHECK { Burn::burn() for 1 .. 60 } CHECK { Burn::burn() for 1 .. 60 } INIT { Burn::burn() for 1 .. 60 }
package Left; sub DESTROY { Burn::burn() for 1 .. 100 } package main; our $left = bless [], 'Left';
Burn::burn() for 1 .. 60;
END { Burn::burn() for 1 .. 60 }
