# Answers at once, or after a time that one of its own subs waits.
use strict;
use warnings;

package Application;

sub wait_for_backend { select undef, undef, undef, 1000 }
sub wait_for_answer { pipe my $answer, my $unused or die; sysread $answer, my $byte, 1 }

package main;

sub {
    my ($environment) = @_;
    Application::wait_for_backend() if $environment->{PATH_INFO} eq '/slow';
    Application::wait_for_answer() if $environment->{PATH_INFO} eq '/pipe';
    [200, ['Content-Type' => 'text/plain'], ["hello\n"]];
}
