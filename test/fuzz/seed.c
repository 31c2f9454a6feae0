// SPDX-License-Identifier: Apache-2.0
// seed: a small shared object with all that the readers of ELF files look for: unwind information of several kinds of
// frames, symbols, lines with inlined calls, and with -DRUNTIMES what marks the three interpreters. Nobody runs it.
#include <alloca.h>
#include <stdint.h>

static inline int inlined(int value) {
  int sum = 0;
  for (int i = 0; i < value; i++) sum += i ^ value;
  return sum;
}

int plain(int value) { return inlined(value) + 1; }

int framed(int value) {
  volatile char* room = alloca((unsigned)value % 64);
  for (int i = 0; i < value % 64; i++) room[i] = (char)i;
  return plain(room[0]) + inlined(value);
}

#ifdef RUNTIMES
const uint8_t PL_revision = 5, PL_version = 36, PL_subversion = 0;
const char* const PL_op_name[] = {"null", "nextstate",    "entersub", "leavesub",     "goto",
                                  "die",  "method_redir", "gv",       "method_named", "return"};
void *PL_stack_sp, *PL_op, *PL_curpad, *PL_curcop, *PL_curstack, *PL_curstackinfo;
#ifdef THREADS
int PL_thr_key;
int* key_of_threads(void) { return &PL_thr_key; }
#endif
int Perl_runops_standard(int value) { return plain(value); }
int perl_run(int value) { return framed(value); }

#ifndef PYTHON_MINOR
#define PYTHON_MINOR 13
#endif
struct {
  char cookie[8];
  uint64_t version, free_threaded, offsets[96];
} _PyRuntime = {"xdebugpy", 0x030000f0 | PYTHON_MINOR << 16, 0, {0}};
uint64_t PyCode_Type[8];
#if PYTHON_MINOR > 10
const uint32_t Py_Version = 0x030000f0 | PYTHON_MINOR << 16;
#else
const char* cache_tag(void) { return "cpython-39"; }
#endif
int _PyEval_EvalFrameDefault(int value) { return plain(value) * 3; }

static const char descriptor[] =
    "{\"version\":0,\"baseline\":\"empty\",\"contracts\":{\"ExecutionManager\":2,\"Thread\":1},\"types\":{"
    "\"MethodDesc\":"
    "{\"Flags\":[0,\"uint16\"],\"ChunkIndex\":[2,\"uint8\"]},\"MethodDescChunk\":{\"MethodTable\":[0,\"pointer\"],"
    "\"!\":[24]},\"Module\":{\"Assembly\":[8,\"pointer\"]}}}";
uint64_t g_dacTable[4];
const struct {
  char magic[8];
  uint32_t flags, length;
  const char* text;
  uint64_t rest[2];
} DotNetRuntimeContractDescriptor = {"DNCCDAC", 1, sizeof descriptor - 1, descriptor, {0}};
const struct {
  char magic[20];
  uint32_t version;
  uint64_t rest[9];
  uint32_t numbers[4];
} DotNetRuntimeInfo = {"DotNetRuntimeInfo", 2, {0}, {9, 0, 0, 0}};
#ifdef DOTNET_VERSION
const char version_text[] = "@(#)Version 8.0.2926.32403 @Commit: made";
#endif
#endif

#ifdef BUNDLE
// The place of a manifest, and what it is found by.
struct {
  uint64_t place;
  uint8_t signature[32];
} bundle = {1, {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
                0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae}};
#endif

#ifdef NEEDED
// The loader, the libraries and the folders that a program names: its linker adds the rest.
const char loader[] __attribute__((section(".interp"))) = "/lib64/ld-linux-x86-64.so.2";
#endif

#ifdef VERSIONS
// One name with an old and a new version.
int older(int value) { return plain(value) - 1; }
__asm__(".symver older, versioned@ONE");
int newer(int value) { return plain(value) + 2; }
__asm__(".symver newer, versioned@@TWO");
#endif

#ifdef PROBES
// Notes as <sys/sdt.h> writes them, with and without a semaphore, and where the linker saw their base.
int probed(int value) {
  __asm__ volatile(
      "990: nop\n"
      ".pushsection .note.stapsdt, \"\", \"note\"\n"
      ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
      "991: .asciz \"stapsdt\"\n"
      "992: .balign 4\n"
      "993: .8byte 990b, _.stapsdt.base, semaphore\n"
      ".asciz \"provider\"\n.asciz \"probe\"\n.asciz \"-4@%edi\"\n"
      "994: .balign 4\n"
      ".4byte 992f-991f, 994f-993f, 3\n"
      "991: .asciz \"stapsdt\"\n"
      "992: .balign 4\n"
      "993: .8byte 990b, _.stapsdt.base, 0\n"
      ".asciz \"provider\"\n.asciz \"other\"\n.asciz \"\"\n"
      "994: .balign 4\n"
      ".popsection\n"
      ".pushsection .stapsdt.base, \"a\", \"progbits\"\n"
      ".globl _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
      ".popsection\n");
  return value;
}
__attribute__((visibility("hidden"))) unsigned short semaphore = 1;
#endif

#ifdef V8_MAJOR
// What V8 exports for debuggers, and where its builtins are.
const int _ZN2v88internal7Version6major_E = V8_MAJOR, _ZN2v88internal7Version6minor_E = V8_MINOR;
const int v8dbg_off_fp_function = -16, v8dbg_HeapObjectTag = 1, v8dbg_SmiShiftSize = 31;
const int v8dbg_CodeKindBaseline = 11, v8dbg_FirstJSFunctionType = 2066, v8dbg_LastJSFunctionType = 2081;
const int v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE = 271, v8dbg_type_Script__SCRIPT_TYPE = 169;
const int v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE = 270, v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE = 196;
const int v8dbg_type_Code__CODE_TYPE = V8_CODE, v8dbg_frametype_EntryFrame = 2;
void* _ZN2v88internal15ThreadIsolation13trusted_data_E;
const int v8_Default_embedded_blob_code_size_ = 64;
__asm__(
    ".text\n"
    ".globl v8_Default_embedded_blob_code_data_, Builtins_InterpreterEntryTrampoline, Builtins_WideHandler\n"
    ".globl PushAllRegistersAndIterateStack\n"
    ".type Builtins_InterpreterEntryTrampoline, @function\n.type Builtins_WideHandler, @function\n"
    ".type PushAllRegistersAndIterateStack, @function\n"
    "v8_Default_embedded_blob_code_data_:\n"
    "Builtins_InterpreterEntryTrampoline: .fill 32, 1, 0x90\n"
    ".size Builtins_InterpreterEntryTrampoline, 32\n"
    "Builtins_WideHandler: .fill 32, 1, 0x90\n"
    ".size Builtins_WideHandler, 32\n"
    "PushAllRegistersAndIterateStack: push %rbp\nmov %rsp, %rbp\npush %rbx\npop %rbx\npop %rbp\nret\n");
#endif
