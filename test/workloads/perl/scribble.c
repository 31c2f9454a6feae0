// SPDX-License-Identifier: Apache-2.0
// libperl in a C program. `scribble`: while a sub runs for ever, another thread writes noise over what a profiler
// reads of it, and puts it back. `remake`: makes an interpreter, runs a sub in it and destroys it, for ever.
// Usage: scribble scribble|remake
#include <EXTERN.h>
#include <perl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static PerlInterpreter* my_perl;

static void interpret(const char* rounds) {
  static const char kScript[] =
      "package Right; sub inner { my $t = 0; $t += $_ for 1 .. 2000; $t }"
      "sub outer { inner() for 1 .. shift } outer(@ARGV)";
  char* arguments[] = {"scribble", "-e", (char*)kScript, (char*)rounds, NULL};
  my_perl = perl_alloc();
  perl_construct(my_perl);
  PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
  perl_parse(my_perl, NULL, 4, arguments, NULL);
  perl_run(my_perl);
  perl_destruct(my_perl);
  perl_free(my_perl);
}

/// What the interpreter itself does not look at while `outer` runs.
static void* scribble(void* unused) {
  static const uint64_t kNoise[] = {0, 8, 0xffff, 0x7fffffffffff, 0xdeadbeefdeadbeef, 0x5555555555555555};
  (void)unused;
  sleep(1);
  PERL_SI* info = my_perl->Icurstackinfo;
  PERL_CONTEXT* outer = info->si_cxstack;
  while (CxTYPE(outer) != CXt_SUB) outer++;
  for (unsigned round = 0;; round++) {
    const PERL_CONTEXT context = *outer;
    PERL_SI* const previous = info->si_prev;
    const uint64_t noise = kNoise[round / 4 % 6];
    switch (round % 4) {
      case 0:
        outer->blk_oldcop = (COP*)noise;
        break;
      case 1:
        outer->blk_sub.cv = (CV*)noise;
        break;
      case 2:
        outer->blk_sub.old_cxsubix = (I32)noise;
        break;
      default:
        info->si_prev = (PERL_SI*)noise;
        info->si_type = PERLSI_SORT;
    }
    usleep(20000);
    *outer = context;
    info->si_prev = previous;
    info->si_type = PERLSI_MAIN;
    usleep(20000);
  }
  return NULL;
}

int main(int count, char** arguments, char** environment) {
  pthread_t thread;
  if (count < 2) return 2;
  PERL_SYS_INIT3(&count, &arguments, &environment);
  const int isRemade = strcmp(arguments[1], "remake") == 0;
  if (!isRemade) pthread_create(&thread, NULL, scribble, NULL);
  do interpret(isRemade ? "20" : "100000000");
  while (isRemade);
  return 0;
}
