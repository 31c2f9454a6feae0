/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The Perl part of a stack. It is walked after the native part, if that met a run loop.
 *
 * The interpreter keeps a stack of contexts: an entry for each sub, eval, loop and block that is
 * under way. A sort, a tied variable, a signal handler and the like get a stack of their own
 * (a stack info), which points to the one before it. Entries of subs, formats and evals are frames;
 * from 5.32 on they are linked by index, before that all entries must be looked at. An entry holds
 * the statement (COP) at which its caller goes on, hence the file and line of the frame below it.
 *
 * Layouts: perl 5.28 to 5.44, cop.h and op.h; what changes between versions is in struct perl_file.
 */
#ifndef POLYTOP_PERL_WALK_H
#define POLYTOP_PERL_WALK_H

#include "context.h"
#include "places.h"
#include "xsub.h"

#define OP_NEXT 0
#define OP_TYPE 32

/* The class of an op, by its address; 0 if it cannot be read. */
static __always_inline __u32 op_class(struct perl_file *file, __u64 op)
{
	__u16 type;

	if (!op || READ_USER(&type, op + OP_TYPE))
		return 0;
	return file->op_class[type & OP_TYPE_MASK];
}

/* Goes from the end of a stack to the one before it, or ends the walk with the code outside of any sub. */
static __noinline int leave_stack(struct walk *w, struct perl_file *file)
{
	struct perl_walk *p = &w->perl;

	if (p->type != SI_TYPE_MAIN && p->uncut)
		push_cut(w);
	if (p->type != SI_TYPE_MAIN && p->previous_info) {
		p->stack_info = p->previous_info;
		return enter_stack(w, file);
	}
	if (perl_name_file(PERL_MAIN))
		return stop_perl(w, COUNTER_UnwindPerlErrReadStatement);
	push_perl_at(w, 1, PERL_MAIN, w->name_hash, p->statement ? line_of(w, p->statement) : 0);
	return stop_perl(w, COUNTER_UnwindPerlComplete);
}

/*
 * Whether a frame that no op returns to was called by C code, and so ends a segment. It was not if the entry below it
 * belongs to the same call (call_sv() with G_EVAL), or is a block whose last op the call is.
 */
static __always_inline int is_cut(struct perl_walk *p, struct perl_file *file, __u32 type)
{
	__s32 below = p->index - 1;

	if (below < 0 || load_context(p, file, below))
		return 1;
	__u64 word = context_word(p, file, below, 0) & 0xff;
	if ((word & CX_TYPE) == CX_NULL || (word & CX_TYPE) == CX_DEFER)
		return 0;
	if ((word & (CX_TYPE | CX_SUB_RE)) == (CX_SUB | CX_SUB_RE))
		return 0;
	return !((type & CX_TYPE) == CX_SUB && (word & CX_TYPE) == CX_EVAL &&
		 context_word(p, file, below, CX_RETURN) == 0);
}

/* How far the innermost call has come. */
enum call_state { CALL_RUNNING, CALL_ENTERED, CALL_LEFT };

static __always_inline enum call_state call_state(struct perl_walk *p, struct perl_file *file, __u64 old_statement,
						  __u64 return_op)
{
	__u64 op = p->variables[PERL_VAR_OP], next = 0;

	if (p->statement != old_statement || !op)
		return CALL_RUNNING;
	/* Where subs are linked, one that is being left is off the chain by now. */
	if (!(file->flags & PERL_SUB_CHAIN) && (p->op_class & PERL_OP_RETURNING))
		return CALL_LEFT;
	if (p->body.start == op)
		return CALL_ENTERED;
	if ((p->op_class & PERL_OP_ENTERING) && !READ_USER(&next, op + OP_NEXT) && next == return_op)
		return CALL_ENTERED;
	return CALL_RUNNING;
}

/* The line of the first statement of the sub in w->perl.body; 0 if there is none among its first ops. */
static __always_inline __u32 first_line(struct walk *w, struct perl_file *file)
{
	__u64 op = w->perl.body.start;

	for (int i = 0; i < 3; i++) {
		if (op_class(file, op) & PERL_OP_STATEMENT)
			return line_of(w, op);
		if (!op || READ_USER(&op, op + OP_NEXT))
			break;
	}
	return 0;
}

/* Takes the frame of the context p->index. Returns whether the walk ended. */
static __always_inline int take_frame(struct walk *w, struct perl_file *file, __u32 type)
{
	struct perl_walk *p = &w->perl;
	__u64 return_op = context_word(p, file, p->index, CX_RETURN);
	__u64 old_statement = context_word(p, file, p->index, CX_OLD_STATEMENT);
	__u32 innermost = p->unchecked, line, kind;
	int result, has_site = 1;

	p->unchecked = 0;
	p->last.type = PERL_NO_TYPE;
	if ((type & CX_TYPE) == CX_EVAL) {
		kind = PERL_EVAL;
		if (perl_name_file(kind))
			return stop_perl(w, COUNTER_UnwindPerlErrReadStatement);
		line = line_of(w, p->statement);
	} else {
		kind = (type & CX_TYPE) == CX_SUB ? PERL_SUB : PERL_FORMAT;
		p->cv = context_word(p, file, p->index, file->context_cv);
		result = find_sub(w, kind);
		if (result > 0 && innermost) {
			/* The entry is being made or taken down: it is no frame. */
			if (p->op_class & PERL_OP_LEAVING)
				enter_perl_caller(p, old_statement, return_op);
			return 0;
		}
		if (result > 0)
			return stop_perl(w, COUNTER_UnwindPerlErrNoSub);
		if (result < 0)
			return stop_perl(w, COUNTER_UnwindPerlResolveEGV);
		line = 0;
		if (innermost && kind == PERL_SUB) {
			enum call_state state = call_state(p, file, old_statement, return_op);

			if (state == CALL_LEFT) {
				enter_perl_caller(p, old_statement, return_op);
				return 0;
			}
			if (state == CALL_ENTERED) {
				line = first_line(w, file);
				has_site = 0;
			}
		}
		if (!line) {
			line = line_of(w, p->statement);
			p->last.type = type;
			p->last.kind = kind;
			p->last.cv = p->cv;
			p->last.statement = p->statement;
			p->last.name = w->name_hash;
			p->last.line = line;
		}
	}
	push_perl_at(w, has_site, kind, w->name_hash, line);
	p->uncut = 1;
	p->save_index = (__s32)(context_word(p, file, p->index, 0) >> CX_SAVE_INDEX_SHIFT);
	if (kind != PERL_EVAL)
		p->caller_pad = context_word(p, file, p->index, file->context_cv - CX_PAD_BEFORE_CV);
	else if (p->has_places)
		push_eval_place(w, context_word(p, file, p->index, file->context_size - CX_ENVIRONMENT_BEFORE_END));
	enter_perl_caller(p, old_statement, return_op);
	if (!return_op && is_cut(p, file, type))
		push_cut(w);
	return 0;
}

/*
 * Cuts the stack at an entry if it is a defer block's. Returns whether the search for one ends there, since it is found
 * or the entry cannot be read. A global function, as the next: it is verified once.
 */
__noinline int perl_cut_if_defer(__s32 index)
{
	struct walk *w = current_walk();
	struct perl_file *file = w ? perl_walked_file(w) : NULL;

	asm volatile("" : "+r"(index));
	if (!file || load_context(&w->perl, file, index))
		return 1;
	if ((context_word(&w->perl, file, index, 0) & CX_TYPE) != CX_DEFER)
		return 0;
	push_cut(w);
	return 1;
}

/*
 * A defer block runs in a loop of its own, and its entry is not on the chain of subs: looks for it among
 * the entries between two subs, up to PERL_GAP of them.
 */
__noinline int perl_cut_at_defer(__s32 above, __s32 below)
{
	NOT_UNROLLED
	for (__s32 i = 1; i <= PERL_GAP; i++) {
		if (above - i <= below || perl_cut_if_defer(above - i))
			break;
	}
	return 0;
}

/*
 * Goes on over a frame that is like the last one, as in recursion: what it is called is known, and all that tells the
 * two apart lies in the window. Returns whether it is like that, and in the window. A global function: perl_repeat()
 * goes through it many times, the verifier once.
 */
__noinline int perl_repeat_frame(__u32 index)
{
	struct perl_file *file = bpf_map_lookup_elem(&perls, &index);
	struct walk *w = look_up_walk();

	if (!w || !file)
		return 0;
	struct perl_walk *p = &w->perl;
	__u32 offset = context_offset(p, file, p->index);
	__s32 next = (__s32)window_word(p, offset, CX_OLD_SUB_INDEX);

	/* What lies between two subs is looked at elsewhere, if that is more than a block or loop. */
	if (p->index <= p->window_first || next < p->index - 2 ||
	    (context_word(p, file, p->index - 1, 0) & CX_TYPE) == CX_DEFER || p->statement != p->last.statement ||
	    (window_word(p, offset, 0) & 0xff) != p->last.type ||
	    window_word(p, offset, file->context_cv) != p->last.cv || !window_word(p, offset, CX_RETURN) || next < -1 ||
	    next >= p->index || w->record.interpreted_count >= MAX_INTERPRETED - 2)
		return 0;
	push_perl_at(w, 1, p->last.kind, p->last.name, p->last.line);
	p->uncut = 1;
	enter_perl_caller(p, window_word(p, offset, CX_OLD_STATEMENT), window_word(p, offset, CX_RETURN));
	p->index = next;
	return 1;
}

/* Goes on over such frames, to the first that differs. */
static __always_inline void perl_repeat(__u32 index)
{
	for (int i = 1; i < PERL_WINDOW_ENTRIES; i++) {
		if (!perl_repeat_frame(index))
			break;
	}
}

/* Looks at one context, or goes from one stack to the next. Returns whether the walk ended, or met a cut. */
__noinline int perl_step(__u32 depth)
{
	struct walk *w = look_up_walk();

	asm volatile("" : "+r"(depth));
	if (!w)
		return 1;
	struct perl_walk *p = &w->perl;
	struct perl_file *file = perl_walked_file(w);
	if (!file)
		return stop_perl(w, COUNTER_UnwindPerlErrLayout);
	if (w->record.interpreted_count >= MAX_INTERPRETED - 2)
		return stop_perl(w, COUNTER_UnwindPerlTruncated);
	if (p->index < 0)
		return leave_stack(w, file) || p->may_call;
	if (load_context(p, file, p->index))
		return stop_perl(w, COUNTER_UnwindPerlReadContextStackEntry);
	__u32 type = context_word(p, file, p->index, 0) & 0xff;
	__u32 kind = type & CX_TYPE;
	__s32 next = p->index - 1;
	if (file->flags & PERL_SUB_CHAIN) {
		next = (__s32)context_word(p, file, p->index, CX_OLD_SUB_INDEX);
		/* The chain leads only downwards: garbage must not lead in a circle. */
		if (kind < CX_SUB || kind > CX_EVAL || next < -1 || next >= p->index)
			return stop_perl(w, COUNTER_UnwindPerlErrBadContext);
	}
	if (is_frame(type)) {
		if (take_frame(w, file, type))
			return 1;
	} else if (kind == CX_NULL) {
		p->uncut = 1;
	} else if (kind == CX_DEFER && !(file->flags & PERL_SUB_CHAIN)) {
		push_cut(w);
	}
	if (file->flags & PERL_DEFER)
		perl_cut_at_defer(p->index, next);
	p->index = next;
	if (p->last.type != PERL_NO_TYPE && (file->flags & PERL_SUB_CHAIN))
		perl_repeat(p->met.file);
	return p->may_call;
}

/*
 * Makes some steps at a time. A global function: the verifier goes through each turn of a loop again for every way that
 * leads to it, and there are many turns. Returns whether the walk ended, or met a cut.
 */
__noinline int perl_steps(void)
{
	for (__u32 depth = 0; depth < PERL_STEPS_AT_ONCE; depth++) {
		if (perl_step(depth))
			return 1;
	}
	return 0;
}

/* Walks the stacks of contexts from the innermost entry on. Sets p->stop. */
static __always_inline void perl_walk_contexts(struct walk *w, struct perl_file *file)
{
	struct perl_walk *p = &w->perl;
	__u16 op = 0;

	p->statement = p->variables[PERL_VAR_STATEMENT];
	p->op = p->variables[PERL_VAR_OP];
	p->op_is_next = 0;
	p->stack_info = p->variables[PERL_VAR_STACK_INFO];
	p->op_class = 0;
	p->type = 0;
	if (p->op && !READ_USER(&op, p->op + OP_TYPE)) {
		p->op_class = file->op_class[op & OP_TYPE_MASK];
		p->op_meta = ((op & OP_TYPE_MASK) + 1) << PERL_OP_SHIFT | p->met.file << PERL_FILE_SHIFT;
	}
	if ((p->op_class & PERL_OP_CALL) && (p->above >= 2 || !p->loops)) {
		p->call = p->op;
		p->call_pad = p->variables[PERL_VAR_PAD];
		p->call_top = p->variables[PERL_VAR_STACK_POINTER];
		perl_take_xsub();
	}
	if (enter_stack(w, file))
		return;
	if (file->flags & PERL_DEFER)
		perl_cut_at_defer(p->top + 1, p->index);
	NOT_UNROLLED
	for (__u32 turn = 0; turn < PERL_STEPS / PERL_STEPS_AT_ONCE + PERL_CUTS; turn++) {
		if (perl_steps() && p->stop)
			break;
		if (p->may_call)
			perl_take_caller(w);
	}
	if (!p->stop)
		p->stop = COUNTER_UnwindPerlTruncated;
}

/* Walks the Perl part of the stack behind its native part, and says in the record how that ended. */
static __always_inline void perl_finish(struct walk *w, struct task_struct *task)
{
	struct perl_walk *p = &w->perl;

	if (!perl_may_run(w))
		return;
	struct perl_file *file = perl_walked_file(w);
	if (!file)
		return;
	p->stop = 0;
	p->frames = 0;
	p->uncut = 0;
	p->may_call = 0;
	p->cuts = 0;
	p->save_index = -1;
	p->innermost = 1;
	p->unchecked = 1;
	p->op_meta = 0;
	p->type = 0;
	p->samples++;
	int wrong = find_interpreter(w, file, task);
	if (wrong ? !p->loops : !perl_look_at_loops(w, file, task))
		return;
	if (!wrong)
		perl_walk_contexts(w, file);
	__u32 outcome = p->stop;
	add_counter(COUNTER_UnwindPerlAttempts, 1);
	if (file->flags & PERL_UNVERIFIED) {
		add_counter(COUNTER_UnwindPerlUnverified, 1);
		if (outcome != COUNTER_UnwindPerlComplete && outcome != COUNTER_UnwindPerlTruncated)
			add_counter(COUNTER_UnwindPerlMisfits, 1);
	}
	add_counter(COUNTER_UnwindPerlFrames, p->frames);
	add_counter(outcome, 1);
	if (outcome == COUNTER_UnwindPerlComplete)
		return;
	if (outcome == COUNTER_UnwindPerlTruncated) {
		if (w->record.outcome == OUTCOME_COMPLETE)
			w->record.outcome = OUTCOME_TRUNCATED;
		return;
	}
	w->record.outcome = OUTCOME_BROKEN;
	push_perl(w, INTERPRETED_STOP, outcome, 0);
}

#endif
