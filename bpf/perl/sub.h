/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Perl frames: the word of each, and where its name and line come from. Names are looked up in the
 * memo, and made (perl/name.h) at the first sight of a sub.
 */
#ifndef POLYTOP_PERL_SUB_H
#define POLYTOP_PERL_SUB_H

#include "name.h"
#include "site.h"

/* struct cop, op.h and cop.h */
#define COP_LINE 36
#define COP_FILE 48
#define OP_TYPE_MASK 0x1ff

/* Appends a Perl frame to the stack, and takes it into its hash; `has_site` if it is the one being looked at. */
static __always_inline void push_perl_at(struct walk *w, int has_site, __u32 kind, __u64 name, __u32 line)
{
	__u32 meta = kind | ((w->perl.type + 1) & PERL_STACK_MASK) << PERL_STACK_SHIFT;
	__u32 number = w->record.interpreted_count;

	if (w->perl.innermost && kind <= PERL_MAIN) {
		w->perl.innermost = 0;
		meta |= w->perl.op_meta;
	}
	push_interpreted(w, INTERPRETER_PERL, meta, name, line);
	keep_site(w, number, has_site);
	w->perl.words = w->record.interpreted_count;
	if (kind <= PERL_XSUB)
		w->perl.frames++;
}

static __always_inline void push_perl(struct walk *w, __u32 kind, __u64 name, __u32 line)
{
	push_perl_at(w, 0, kind, name, line);
}

/* The line of a statement; 0 if it is unknown. */
static __always_inline __u32 line_of(struct walk *w, __u64 statement)
{
	struct perl_cached *cached = &w->perl.lines[(statement >> 4) & (PERL_CACHED - 1)];
	__u32 line = 0;

	if (cached->key == statement && cached->sample == w->perl.samples)
		return cached->value;
	READ_USER(&line, statement + COP_LINE);
	cached->key = statement;
	cached->value = line;
	cached->sample = w->perl.samples;
	return line;
}

/* Makes the name of code that is in no sub: that of the file of the statement. Returns 0, or -1 on failure. */
__noinline int perl_name_file(__u32 kind)
{
	struct walk *w = current_walk();
	__u64 body;

	asm volatile("" : "+r"(kind));
	struct perl_file *file = w ? perl_walked_file(w) : NULL;
	if (!file)
		return -1;
	begin_name(w, INTERPRETER_PERL, kind);
	if (w->perl.statement && READ_USER(&w->perl.string, w->perl.statement + COP_FILE))
		return -1;
	if (!w->perl.statement)
		w->perl.string = 0;
	/* Without threads a statement points to a glob with the name "_<" and the file's. */
	if (!(file->flags & PERL_THREADED) && w->perl.string) {
		if (READ_USER(&body, w->perl.string) || READ_USER(&w->perl.string, body + GV_NAME))
			return -1;
		w->perl.string += HEK_HEADER + 2;
	}
	return perl_read_file() ? -1 : send_perl_name();
}

/* Two words of a body tell whether its sub is the one that a name was made of: this one stands for its code. */
static __always_inline __u64 code_stamp(struct perl_cv_body *body)
{
	return body->start ^ body->stash << 16;
}

/* The other one stands for its name. */
static __always_inline __u64 name_stamp(struct perl_cv_body *body)
{
	return mix(generation ^ body->glob, (__u64)body->flags << 32 | body->outside_sequence);
}

/*
 * Whether the sub p->cv is still the one that the memo was made of. Its body is read into p->body. A sub that
 * was compiled once keeps its body for life. Closures are clones whose bodies look alike and go from one to another
 * as they come and go: of these the head must say that the body is its own.
 */
static __always_inline int is_same_sub(struct perl_walk *p, struct perl_memo *memo)
{
	__u64 body;

	if (READ_USER(&p->body, memo->body + CV_BODY_FROM))
		return 0;
	if (memo->check[0] != code_stamp(&p->body) || memo->check[1] != name_stamp(&p->body))
		return 0;
	if (!(p->body.flags & CVF_CLONED))
		return 1;
	return !READ_USER(&body, p->cv) && body == memo->body;
}

/*
 * Whether the words of the body stand for the name just made. They do not where the sub alone keeps its glob
 * alive (a closure that was renamed): the next glob may lie at the same address. __ANON__ of a package stays.
 */
static __always_inline int is_name_kept(struct walk *w)
{
	struct perl_walk *p = &w->perl;
	struct name_part *sub = &w->name.parts[PERL_PART_SUB];

	if ((p->body.flags & CVF_NAMED) || !(p->body.flags & CVF_CVGV_RC))
		return 1;
	return sub->length == 8 && *(__u64 *)sub->bytes == 0x5f5f4e4f4e415f5fULL; /* "__ANON__" */
}

/*
 * Puts the name of the sub w->perl.cv into w->name_hash.
 * Returns 0, 1 if it is no sub, -1 if something was unreadable.
 */
__noinline int perl_find_sub(__u32 kind)
{
	struct walk *w = look_up_walk();
	asm volatile("" : "+r"(kind));
	if (!w)
		return -1;
	struct perl_walk *p = &w->perl;
	struct perl_cached *cached = &p->subs[(p->cv >> 3) & (PERL_CACHED - 1)];
	struct perl_memo *memo = find_memo(&w->memo, MEMO_PERL_SUB, w->tgid, p->cv);
	if (memo && is_same_sub(p, memo)) {
		w->name_hash = memo->name;
	} else {
		if (!p->cv)
			return 1;
		if (READ_USER(&p->cv_head, p->cv))
			return 1;
		if (SV_TYPE(p->cv_head) != SVT_PVCV && SV_TYPE(p->cv_head) != SVT_PVFM)
			return 1;
		if (READ_USER(&p->body, p->cv_head[0] + CV_BODY_FROM))
			return 1;
		if (perl_name_sub(kind))
			return -1;
		p->memo.body = p->cv_head[0];
		p->memo.check[0] = code_stamp(&p->body);
		p->memo.check[1] = name_stamp(&p->body);
		p->memo.name = w->name_hash;
		if (is_name_kept(w))
			keep_memo(&w->memo, MEMO_PERL_SUB, w->tgid, p->cv, p->memo);
	}
	cached->key = p->cv;
	cached->value = w->name_hash;
	cached->sample = p->samples;
	return 0;
}

/* Does the same for a frame, through a cache: recursion meets the same sub again and again. */
static __always_inline int find_sub(struct walk *w, __u32 kind)
{
	struct perl_walk *p = &w->perl;
	struct perl_cached *cached = &p->subs[(p->cv >> 3) & (PERL_CACHED - 1)];

	if (cached->key != p->cv || cached->sample != p->samples)
		return perl_find_sub(kind);
	w->name_hash = cached->value;
	return 0;
}

#endif
