/* Sends datagrams to itself over the loopback device from the first CPU, for ever: with RPS their softirqs run on
 * another CPU. Nobody reads them. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

int main(void) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof(first), &first);

  int sender = socket(AF_INET, SOCK_DGRAM, 0), receiver = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof(address);
  static char bytes[1200];
  if (bind(receiver, (void*)&address, sizeof(address)) || getsockname(receiver, (void*)&address, &length)) return 1;
  for (;;) sendto(sender, bytes, sizeof(bytes), 0, (void*)&address, sizeof(address));
}
