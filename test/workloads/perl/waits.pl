# Waits in three subs for a helper: 60 of 100 for a socket, 30 for a file lock, 10 for time alone. The unit is in ms.
use strict; use warnings;
use Fcntl qw(:flock);
use Socket;
my $unit = shift() / 1000;
socketpair(my $here, my $there, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
my $path = "/tmp/polytop-waits-perl-$$";
sub rest { select undef, undef, undef, $_[0] }
if (!fork) {
    close $here;
    open my $file, '>', $path or die;
    while (sysread $there, my $asked, 1) {
        rest(6 * $unit) if $asked eq 'q';
        flock $file, LOCK_EX if $asked eq 'l';
        syswrite $there, 'a';
        if ($asked eq 'l') { rest(3 * $unit); flock $file, LOCK_UN }
    }
    exit;
}
close $there;
sub query { syswrite $here, 'q'; sysread $here, my $answer, 1 }
sub ask_for_lock { syswrite $here, 'l'; sysread $here, my $answer, 1 }
sub lock_file { my ($file) = @_; flock $file, LOCK_EX; flock $file, LOCK_UN }
sub pause { rest(1 * $unit) }
query();
ask_for_lock();
open my $file, '<', $path or die;
unlink $path;
while (1) { query(); ask_for_lock(); lock_file($file); pause() }
