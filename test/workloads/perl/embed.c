// SPDX-License-Identifier: Apache-2.0
// Two interpreters of libperl in one process, one in a thread of its own; each calls a sub for ever.
// Usage: embed FIRST.pl SECOND.pl, whose sub `forever` is called.
#include <EXTERN.h>
#include <perl.h>
#include <pthread.h>

EXTERN_C void boot_DynaLoader(pTHX_ CV* cv);

static void bootModules(pTHX) { newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, __FILE__); }

static void* interpret(void* script) {
  PerlInterpreter* my_perl = perl_alloc();
  PERL_SET_CONTEXT(my_perl);
  perl_construct(my_perl);
  char* arguments[] = {"embed", (char*)script, NULL};
  perl_parse(my_perl, bootModules, 2, arguments, NULL);
  perl_run(my_perl);
  call_pv("forever", G_VOID | G_DISCARD | G_NOARGS);
  return NULL;
}

int main(int count, char** arguments, char** environment) {
  if (count < 3) return 2;
  PERL_SYS_INIT3(&count, &arguments, &environment);
  pthread_t thread;
  // Keys of thread-specific data before that of Perl: it need not be 0.
  pthread_key_t keys[40];
  for (int i = 0; i < 40; i++) pthread_key_create(&keys[i], NULL);
  pthread_create(&thread, NULL, interpret, arguments[2]);
  interpret(arguments[1]);
  return 0;
}
