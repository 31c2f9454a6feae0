// SPDX-License-Identifier: Apache-2.0
// A program that loads .NET when it runs already: host LIBHOSTFXR DOTNET_ROOT ASSEMBLY [ARGUMENT…]. It spins
// until SIGUSR1 first, so that it is known as a native program by then.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

#include "spin.h"

// hostfxr_main_startupinfo_fn in hostfxr.h of .NET
typedef int (*run_application)(int argc, const char** argv, const char* host, const char* root, const char* app);

static volatile sig_atomic_t go_on;

static void on_signal(int number) {
  (void)number;
  go_on = 1;
}

FRAME void spin_before(void) {
  while (!go_on) burn(1, 100000);
}

int main(int argc, char** argv) {
  run_application run;
  void* library;
  int status;

  if (argc < 4) {
    fprintf(stderr, "usage: host LIBHOSTFXR DOTNET_ROOT ASSEMBLY [ARGUMENT...]\n");
    return 2;
  }
  signal(SIGUSR1, on_signal);
  spin_before();
  library = dlopen(argv[1], RTLD_NOW);
  run = library ? (run_application)dlsym(library, "hostfxr_main_startupinfo") : NULL;
  if (!run) {
    fprintf(stderr, "%s: %s\n", argv[1], dlerror());
    return 1;
  }
  // The arguments of the application begin behind the name of the host.
  status = run(argc - 3, (const char**)argv + 3, argv[0], argv[2], argv[3]);
  KEEP(status);
  return status;
}
