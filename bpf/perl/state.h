/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The part of a walk's state that belongs to Perl. */
#ifndef POLYTOP_PERL_STATE_H
#define POLYTOP_PERL_STATE_H

#include "../runtimes/memos.h"
#include "../runtimes/met.h"
#include "abi.h"

/*
 * The name of a sub, by the address of its CV. An address is given to another sub as soon as one is freed. So a name is
 * taken from here only if the body of the sub still holds the words that it was made of, among them
 * CvOUTSIDE_SEQ: a stamp of its compilation, which grows with every eval.
 */
#define MEMO_PERL_SUB MEMO_KIND(INTERPRETER_PERL, 0)
struct perl_memo {
	__u64 body;
	__u64 check[2];
	__u64 name;
};

/* A window of the context stack: a read of user memory costs little more for 3 KB than for 100 bytes. */
#define PERL_WINDOW_ENTRIES 32
#define PERL_WINDOW_MASK 4095
/* So many entries of blocks and loops between two subs are looked at. */
#define PERL_GAP 16
/* So many look-ups of this sample are remembered, since deep stacks are recursion. A power of two. */
#define PERL_CACHED 16
/* So many contexts are looked at: those that are no frames too, where subs are not linked. */
#define PERL_STEPS 1600
#define PERL_STEPS_AT_ONCE 40
/* Of so many calls of Perl code by C code the XSUB is looked for. */
#define PERL_CUTS 40

/* Something that was looked up in a sample. */
struct perl_cached {
	__u64 key;
	__u64 value;
	__u64 sample; /* the number of that sample */
};

/* The body of a sub from offset 32 on (struct xpvcv, cv.h). */
struct perl_cv_body {
	__u64 stash;
	__u64 start; /* first op; XSUB: any pointer */
	__u64 root;  /* XSUB: the C function */
	__u64 glob;  /* GV*, or HEK* of its own name (CVf_NAMED) */
	__u64 file;  /* C string */
	__u64 pad;
	__u64 outside;
	__u32 outside_sequence;
	__u32 flags;
};

/* The last frame: the next is compared with it. */
struct perl_last {
	__u64 cv;
	__u64 statement; /* the statement that it was executing */
	__u64 name;
	__u32 line;
	__u32 kind; /* enum perl_kind */
	__u32 reserved;
	__u32 type; /* of its context; PERL_NO_TYPE: the next frame is like no other */
};
#define PERL_NO_TYPE 0x100

struct perl_walk {
	struct met_interpreter met; /* its file, by index in `perls`: a frame in it was met, or hangs on the thread */
	__u32 loops;                /* run loops that were met */
	__u32 noted;                /* native frames in its file: perl/loop.h */
	__u32 stop;                 /* counter id of the outcome, 0 while walking */
	__u32 above;                /* user frames above the innermost run loop */
	__u32 uncut;                /* there are frames, or a sort block, since the last cut */
	__u64 samples;              /* numbers the samples of this CPU */
	__u32 frames;               /* frames that were found */
	__u32 words;                /* its words among the interpreted frames of the stack, which come first */
	__u32 op_class;             /* of the current op */
	__u32 op_meta;              /* current op and file, for the innermost frame's meta */
	__u32 unchecked;            /* no context was looked at yet: the highest may be half made or half taken down */
	__u64 interpreter;
	__u64 interpreter_words[32];
	__u64 environment;  /* PL_top_env: a struct jmpenv on the stack of the thread */
	__u32 has_own_loop; /* PL_runops is a function of a module */
	__u32 has_places;   /* the environments were sent, and each eval says which was its own */
	__u64 variables[PERL_VARIABLES];
	__u64 statement; /* the COP that the frame being looked at is executing */
	__u64 op;        /* the op that it is executing, or goes on with */
	__u32 op_is_next;

	__u64 stack_info;
	__u64 previous_info;
	__u64 info[6];      /* the stack info; its members: perl/context.h */
	__u64 contexts;     /* address of the context stack */
	__s32 index;        /* context being looked at, -1: none left */
	__s32 top;          /* highest context of this stack */
	__s32 type;         /* si_type */
	__u32 innermost;    /* no frame was found yet */
	__s32 window_first; /* context at the start of the window */
	__u32 window_count;

	struct perl_last last;

	/* The outermost frame since the last cut, of whose caller's op the save stack tells. */
	__s32 save_index; /* height of the save stack when it was called; -1: there is no frame */
	__u32 may_call;   /* a cut was made: an XSUB may have called the frames above */
	__u32 cuts;
	__u32 reserved;
	__u64 caller_pad; /* the AV that is its caller's pad */
	__u64 saved[16];  /* words of the save stack */

	__u64 call;     /* the op whose XSUB is looked for, */
	__u64 call_pad; /* the pad it is carried out with, */
	__u64 call_top; /* and the stack pointer; 0: not known */

	__u64 cv; /* sub whose name is looked for */
	__u64 cv_head[3];
	__u64 callee[6]; /* the op that names what is called; its words: perl/xsub.h */
	__u64 invocant;  /* place in the pad of the invocant of a method; 0: it is elsewhere */
	struct perl_cv_body body;
	__u64 string; /* address of the string to be read */
	struct perl_cached subs[PERL_CACHED];
	struct perl_cached lines[PERL_CACHED];
	struct perl_memo memo; /* scratch */
	struct perl_sites_record sites;
	struct perl_split_key split;                 /* scratch */
	__u8 window[PERL_WINDOW_MASK + 1 + 256 + 8]; /* a field is at most 255 behind its context */
};

#endif
