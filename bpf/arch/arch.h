/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The processor that the programs are built for. Its files are the only ones that name registers, instructions and
 * layouts of one processor; the rest knows ip, sp, fp and numbers of registers. A further processor is a line here
 * and files with the same names in them.
 */
#ifndef POLYTOP_ARCH_H
#define POLYTOP_ARCH_H

#ifdef __TARGET_ARCH_x86
#include "x86.h"
#include "x86_calls.h"
#include "x86_code.h"
#include "x86_dotnet.h"
#include "x86_pages.h"
#include "x86_probe.h"
#include "x86_python.h"
#include "x86_stubs.h"
#include "x86_v8.h"
#else
#error "no file in bpf/arch describes this processor"
#endif

#endif
