// SPDX-License-Identifier: Apache-2.0
// Functions whose symbols and unwind entries are those of hand-written assembly: a label without type and size, one
// function with two unwind entries, the stub of a function of a library (built of this file with -DLIBRARY), and two
// loops between symbols, without any unwind entry.
#ifdef LIBRARY
void empty(void) {}
#else
void empty(void);
void bare(void);
void parts(void);
void first(void);
void second(void);

__asm__(
    ".text\n"
    ".globl bare, parts, first, second\n"
    "bare:\n.cfi_startproc\n mov $3000000, %ecx\n1: dec %ecx\n jnz 1b\n ret\n.cfi_endproc\n"
    ".type parts, @function\n"
    "parts:\n.cfi_startproc\n mov $3000000, %ecx\n jmp within\n.cfi_endproc\n"
    "within:\n.cfi_startproc\n dec %ecx\n jnz within\n ret\n.cfi_endproc\n.size parts, .-parts\n"
    ".skip 64, 0x90\n"
    ".type first, @function\n"
    "first:\n mov $3000000, %ecx\n jmp 2f\n.size first, .-first\n"
    "2: dec %ecx\n jnz 2b\n ret\n.skip 4096, 0x90\n"
    ".type second, @function\n"
    "second:\n mov $3000000, %ecx\n jmp 3f\n.size second, .-second\n"
    "3: dec %ecx\n jnz 3b\n ret\n");

// An interrupt is taken behind an instruction that is slow: for samples to be in the stub, the call of it must be that.
__attribute__((noipa)) static void stubs(void) {
  void* stub;
  __asm__("lea empty@PLT(%%rip), %0" : "=r"(stub));
  for (int i = 0; i < 5000; i++) {
    __builtin_ia32_clflush(&stub);
    __builtin_ia32_mfence();
    __asm__ volatile("call *%0" : : "m"(stub) : "memory");
  }
}

int main(void) {
  for (;;) {
    bare();
    parts();
    first();
    second();
    stubs();
  }
}
#endif
