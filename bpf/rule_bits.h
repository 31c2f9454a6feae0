/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What unwind_rule.ra_register (abi.h) tells beside the register, as user space writes it. */
#ifndef POLYTOP_RULE_BITS_H
#define POLYTOP_RULE_BITS_H

/* The rule holds up to the function's epilogs, which no row tells: at the leaf their instructions do. */
#define EPILOGS_UNTOLD 0x20

#endif
