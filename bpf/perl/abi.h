/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The part of abi.h about Perl: what both sides know of an interpreter, its frames and its names. Sources are the
 * headers of perl 5.28 to 5.44 (perl.h, intrpvar.h, cop.h, cv.h, hv.h).
 */
#ifndef POLYTOP_PERL_ABI_H
#define POLYTOP_PERL_ABI_H

#include "../types.h"

#define MAX_PERLS 64 /* files that hold an interpreter at a time; index 0 stays empty */
#define PERL_OPS 512 /* op numbers: nine bits (struct op) */

/* ---- one Perl frame of a stack: struct interpreted_frame ------------------ */

enum perl_kind {
	PERL_SUB = 1,
	PERL_FORMAT = 2,
	PERL_EVAL = 3,      /* eval, require, do FILE */
	PERL_MAIN = 4,      /* the code outside of any sub: the outermost word of a complete walk */
	PERL_XSUB = 5,      /* a sub written in C: what the leaf is in, or what called Perl; a PERL_XSUB_CODE follows */
	PERL_XSUB_CODE = 6, /* not a frame: `name` is the frame word of the C function's first byte */
	PERL_CUT = 7,       /* not a frame: the frames above were called by C code */
	/* 8 is INTERPRETED_STOP. These are no frames: `name` tells where something is. */
	PERL_LOOP_CODE = 9,    /* the frame word of the first byte of a run loop that is a module's own */
	PERL_ENVIRONMENT = 10, /* a struct jmpenv: 1 + the index of the last noted native frame that begins below it */
	PERL_EVAL_PLACE = 11,  /* the same of that which was the innermost when the PERL_EVAL before it began */
};

/* What interpreted_frame.meta holds besides; the line is that of the statement. */
#define PERL_STACK_SHIFT 4 /* si_type + 1 of the stack that the frame is on (cop.h), 4 bits */
#define PERL_STACK_MASK 0xf
#define PERL_OP_SHIFT 16 /* innermost frame: number of the current op + 1; 0: none */
#define PERL_OP_MASK 0x3ff
#define PERL_FILE_SHIFT 26 /* innermost frame: index in `perls`, 6 bits: whose op numbers these are */
_Static_assert(MAX_PERLS <= 64, "the index must fit into meta");

/* ---- exact lines ----------------------------------------------------------- */

/*
 * The line of a frame is that of its statement, as the interpreter keeps it. A condition that the optimiser has
 * made a part of the statement before it has a line of its own, which only the op tree tells: user space looks
 * there, by the address of the statement and that of the op.
 *
 *   bits 20..63  address of the statement (COP) >> 3
 *   bit  19      the op is the one that comes next, after the call; else it is the one being executed
 *   bits  0..18  address of the op - address of the statement, in words, as a signed number; 0: not known
 */
#define PERL_SITES 64 /* so many of the innermost frames of a stack have one */
#define PERL_SITE_STATEMENT_SHIFT 20
#define PERL_SITE_NEXT (1ULL << 19)
#define PERL_SITE_OP_BITS 19
#define PERL_SITE_OP_MASK ((1ULL << PERL_SITE_OP_BITS) - 1)

/* The sites of the Perl frames of a stack; the record comes before its stack_record. */
struct perl_sites_record {
	__u32 type; /* RECORD_PERL_SITES */
	__u32 tgid;
	__u64 hash;
	__u32 perl; /* index in `perls` */
	__u32 reserved;
	__u64 sites[PERL_SITES]; /* by number of the Perl frame; 0: it is in no statement */
};

/* A statement that has lines of its own in it: stacks in it are told apart by the op. */
struct perl_split_key {
	__u64 tgid;
	__u64 statement;
};

/* ---- a file that holds an interpreter ------------------------------------- */

enum perl_flags {
	PERL_THREADED = 1,      /* variables are in a struct for each thread, found by thread-specific data */
	PERL_MUSL = 2,          /* thread-specific data in the layout of musl, else of glibc */
	PERL_SUB_CHAIN = 4,     /* contexts of subs are linked: si_cxsubix, from 5.32 on */
	PERL_AUX_IN_BODY = 8,   /* the name of a stash lies in its body, from 5.36 on */
	PERL_DEFER = 16,        /* defer blocks exist, from 5.36 on */
	PERL_REFUSED = 32,      /* no layout is known */
	PERL_UNVERIFIED = 128,  /* taken to be like the latest that was tried, and checked against itself */
	PERL_WIDE_NUMBERS = 64, /* numbers of 16 bytes: the body of a glob is longer */
};

/* Variables of the interpreter that the walk reads. */
enum perl_variable {
	PERL_VAR_STACK_POINTER = 0, /* PL_stack_sp */
	PERL_VAR_OP = 1,            /* PL_op */
	PERL_VAR_PAD = 2,           /* PL_curpad */
	PERL_VAR_STATEMENT = 3,     /* PL_curcop */
	PERL_VAR_STACK = 4,         /* PL_curstack */
	PERL_VAR_STACK_INFO = 5,    /* PL_curstackinfo */
	PERL_VAR_SAVE_STACK = 6,    /* PL_savestack */
	PERL_VARIABLES = 7
};

/* What an op does, as far as it matters here. */
enum perl_op_class {
	PERL_OP_STATEMENT = 1, /* nextstate, dbstate: a COP */
	PERL_OP_ENTERING = 2,  /* pushes a sub */
	PERL_OP_LEAVING = 4,   /* pops a context */
	PERL_OP_RETURNING = 8, /* pops a sub */
	PERL_OP_CALL = 16,     /* entersub */
	PERL_OP_GLOB = 32,     /* gv: names a sub */
	PERL_OP_METHOD = 64,   /* method_named and its like: names a method */
};

struct perl_file {
	__u32 flags; /* enum perl_flags */
	__u16 context_size;
	__u8 context_cv;                             /* offset of the CV in a sub's context */
	__u8 stack_type;                             /* offset of si_type */
	struct code_range loops[2];                  /* Perl_runops_standard, Perl_runops_debug */
	struct file_place key;                       /* PL_thr_key */
	struct file_place variables[PERL_VARIABLES]; /* PERL_THREADED: offsets from the interpreter */
	struct file_place environment;               /* PL_top_env, the same way */
	struct file_place run_loop;                  /* PL_runops, the same way */
	__u8 op_class[PERL_OPS];                     /* by op number: enum perl_op_class */
};
_Static_assert(sizeof(struct perl_file) == 24 + 16 * (3 + PERL_VARIABLES) + PERL_OPS, "perl_file");

/* ---- names ---------------------------------------------------------------- */

enum perl_part { PERL_PART_SUB = 0, PERL_PART_PACKAGE = 1, PERL_PART_FILE = 2 };

/* name_record.kind is one of enum perl_kind, its parts are those above. */
enum perl_name_flags {
	PERL_NAME_LEXICAL = 1,  /* a sub that belongs to no package */
	PERL_NAME_NONE = 2,     /* the sub has no name any more */
	PERL_NAME_NO_STASH = 4, /* its package was deleted */
};

#endif
