/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Who awaits a resumed async method of .NET. A suspended method is an object on the heap, which holds its state machine
 * and points to the object that goes on behind it. That of the method that runs lies on the stack: the framework calls
 * it through a register that the method or a frame between has pushed. It is known by its type, which user space tells
 * of (struct dotnet_type), and by its state. Facts: AsyncTaskMethodBuilderT.cs, Task.cs of .NET 8 to 11.
 *
 * All of it must be read at the sample: a millisecond later most methods have gone on.
 */
#ifndef POLYTOP_DOTNET_AWAITS_H
#define POLYTOP_DOTNET_AWAITS_H

#include "../results.h"
#include "../runtimes/awaits.h"
#include "role.h"

/* User space writes, the walk reads. */
MAP(dotnet_types, LRU_HASH, 8192, struct dotnet_type_key, struct dotnet_type);

/* Around where the state machine was called from: what it pushed itself, and what lies further out. */
#define RESUMED_BELOW 64
#define RESUMED_WORDS (DOTNET_SCRATCH / 8)
/* No object lies so near to where the thread's stack is. */
#define STACK_DISTANCE (8ULL << 20)

/* Task.m_stateFlags (Task.cs): its delegate was called; it ran to its end, or that failed, or it was cancelled. */
#define TASK_CALLED 0x20000
#define TASK_ENDED 0x1600000
/* <>1__state of a state machine that runs. */
#define STATE_RUNS (~0U)

/* From a MethodTable to its EEClass, or to the canonical MethodTable, with bit 0 set; and back (methodtable.h,
 * class.h). */
#define TYPE_CLASS 40
#define CLASS_TYPE 16
/* So long nobody asks again for a type. */
#define ASKED_NANOSECONDS 2000000000ULL

/*
 * Whether a word may be the address of an object or a type: the runtime takes memory where the kernel maps it, in the
 * upper part of the address space. To read at what is a number takes long: the page fault has to be undone.
 */
static __always_inline int dotnet_is_address(__u64 word)
{
	return !(word & 7) && word >> 40 && !(word >> 47);
}

/* Whether an address is that of a MethodTable, as far as it is like one. */
static __always_inline int dotnet_is_type(struct awaits *a, __u64 type)
{
	__u64 canonical = type;

	if (!dotnet_is_address(type) || READ_USER(&a->words[5], type + TYPE_CLASS))
		return 0;
	if (a->words[5] & 1) {
		canonical = a->words[5] - 1;
		if (!dotnet_is_address(canonical) || READ_USER(&a->words[5], canonical + TYPE_CLASS))
			return 0;
	}
	return dotnet_is_address(a->words[5]) && !READ_USER(&a->words[6], a->words[5] + CLASS_TYPE) &&
	       a->words[6] == canonical;
}

/* Asks user space for a type, unless it was asked a moment ago. Sets a->unknown where it is one. */
__noinline int dotnet_ask_type(__u64 type)
{
	struct walk *w = current_walk();
	struct awaits *a = current_awaits();
	__u64 now = bpf_ktime_get_ns();

	asm volatile("" : "+r"(type));
	if (!w || !a || !dotnet_is_type(a, type))
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	a->unknown = 1;
	struct dotnet_asked *asked = find_memo(&w->memo, MEMO_DOTNET_TYPE, w->tgid, type);
	if (asked && asked->program == w->program && now - asked->at < ASKED_NANOSECONDS)
		return 0;
	d->asked.program = w->program;
	d->asked.at = now;
	struct method_record *r = &d->record;
	__builtin_memset(r, 0, sizeof(*r) - DOTNET_NAME_LENGTH);
	r->type = RECORD_METHOD;
	r->tgid = w->tgid;
	r->method_desc = type;
	r->bias = d->process.bias;
	r->space = w->program;
	r->file = d->process.file;
	r->kind = DOTNET_TYPE;
	if (!bpf_ringbuf_output(&records, r, sizeof(*r) - DOTNET_NAME_LENGTH, BPF_RB_FORCE_WAKEUP))
		keep_memo(&w->memo, MEMO_DOTNET_TYPE, w->tgid, type, d->asked);
	return 0;
}

/* Reads the start of an object into a->words, and returns what is known of its type; NULL: nothing, or it is none. */
static __noinline struct dotnet_type *dotnet_read_object(struct walk *w, struct awaits *a, __u64 object)
{
	if (!dotnet_is_address(object) || READ_USER_BYTES(a->words, 40, object))
		return NULL;
	a->key.type = a->words[0] & ~7ULL;
	a->key.tgid = w->tgid;
	a->key.reserved = 0;
	struct dotnet_type *type = bpf_map_lookup_elem(&dotnet_types, &a->key);
	if (type && type->space == w->program)
		return type;
	dotnet_ask_type(a->key.type);
	return NULL;
}

/* Whether the object's method, or the task's delegate, runs: `type` is that of the object. */
static __always_inline int dotnet_runs(struct awaits *a, struct dotnet_type *type, __u64 object)
{
	__u64 machine = object;
	__u32 word;

	if (type->task_flags) {
		if (READ_USER(&word, object + type->task_flags) || (word & TASK_ENDED))
			return 0;
		if (!a->machine && !(word & TASK_CALLED))
			return 0;
	}
	if (!a->machine)
		return 1;
	if (!type->state)
		return 1;
	if (type->machine_at && READ_USER(&machine, object + type->machine_at))
		return 0;
	return !READ_USER(&word, machine + type->state) && word == STATE_RUNS;
}

/* Whether a word of the stack is the object of what was resumed: it is a->object then. */
__noinline int dotnet_is_resumed(__u64 word)
{
	struct walk *w = current_walk();
	struct awaits *a = current_awaits();

	asm volatile("" : "+r"(word));
	if (!w || !a || !dotnet_is_address(word) || word - (a->cfa - STACK_DISTANCE) < 2 * STACK_DISTANCE)
		return 0;
	struct dotnet_type *type = dotnet_read_object(w, a, word);
	if (!type)
		return 0;
	if (a->machine ? type->machine != a->machine : !(type->flags & DOTNET_IS_TASK))
		return 0;
	if (!dotnet_runs(a, type, word))
		return 0;
	a->object = word;
	return 1;
}

/* Looks at so many words of the stack from an address on. Returns whether the object is among them. */
__noinline int dotnet_look_at(__u64 address, __u32 count)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(address), "+r"(count));
	if (!w || READ_USER_BYTES(w->dotnet.bytes, DOTNET_SCRATCH, address))
		return 0;
	__u64 *words = (__u64 *)w->dotnet.bytes;
	NOT_UNROLLED
	for (__u32 i = 0; i < RESUMED_WORDS && i < count; i++) {
		if (dotnet_is_resumed(words[i & (RESUMED_WORDS - 1)]))
			return 1;
	}
	return 0;
}

/* Looks at the callee-saved registers of the leaf. */
__noinline int dotnet_look_at_registers(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	return dotnet_is_resumed(w->registers[REG_R14]) || dotnet_is_resumed(w->registers[REG_R15]) ||
	       dotnet_is_resumed(w->registers[REG_RBX]) || dotnet_is_resumed(w->registers[REG_R12]) ||
	       dotnet_is_resumed(w->registers[REG_R13]) || dotnet_is_resumed(w->registers[REG_RBP]);
}

/* Whether the object of what was resumed is found. */
static __always_inline int dotnet_find_resumed(struct walk *w, struct awaits *a)
{
	__u64 below = a->cfa - RESUMED_BELOW;

	if (dotnet_look_at(below, RESUMED_WORDS) || dotnet_look_at_registers())
		return 1;
	__u64 start = below - DOTNET_SCRATCH, leaf = w->registers[REG_SP] & ~7ULL;
	if (start < leaf)
		start = leaf;
	return start < below && dotnet_look_at(start, (below - start) / 8);
}

/* So many of those that await one object are looked at. */
#define AWAITERS_LOOKED_AT 4

/* Goes on to the only one that awaits in an array, or to the first of several. Returns 0, or the counter of an end. */
static __always_inline __u32 dotnet_follow_list(struct awaits *a, struct dotnet_type *type)
{
	__u64 array, first = 0;
	__u32 count, found = 0;

	if (READ_USER(&array, a->object + type->next) || READ_USER(&count, a->object + type->second) ||
	    READ_USER_BYTES(a->words, 8 * AWAITERS_LOOKED_AT, array + 16))
		return COUNTER_AwaitsUnreadable;
	for (__u32 i = 0; i < AWAITERS_LOOKED_AT; i++) {
		if (i >= count || !a->words[i])
			continue;
		if (!found++)
			first = a->words[i];
	}
	a->object = first;
	if (!first)
		return count > AWAITERS_LOOKED_AT ? COUNTER_AwaitsLimit : 0;
	if (found == 1 && count <= AWAITERS_LOOKED_AT)
		return 0;
	a->several = 1;
	return note_awaits(a, AWAITED_BY_SEVERAL) ? COUNTER_AwaitsLimit : 0;
}

/* Goes on from an object to what awaits it. Returns whether the chain has ended: a->end says how. */
__noinline int dotnet_follow(__u32 turn)
{
	struct walk *w = current_walk();
	struct awaits *a = current_awaits();
	__u64 next;

	asm volatile("" : "+r"(turn));
	if (!w || !a)
		return 1;
	if (!a->object) {
		a->end = COUNTER_AwaitsNobody;
		return 1;
	}
	struct dotnet_type *type = dotnet_read_object(w, a, a->object);
	if (!type) {
		a->end = a->unknown ? COUNTER_AwaitsUnknown : COUNTER_AwaitsUnreadable;
		return 1;
	}
	if (type->link == DOTNET_LINK_LIST) {
		a->end = dotnet_follow_list(a, type);
		return a->end != 0;
	}
	if (type->link != DOTNET_LINK_NEXT) {
		a->end = type->link == DOTNET_LINK_BLOCKED     ? COUNTER_AwaitsFound
			 : type->link == DOTNET_LINK_COMPLETED ? COUNTER_AwaitsCompleted
							       : COUNTER_AwaitsUnknown;
		return 1;
	}
	/* That of what was resumed is on the stack itself. */
	if (turn && type->name && note_awaits(a, type->name)) {
		a->end = COUNTER_AwaitsLimit;
		return 1;
	}
	if (READ_USER(&next, a->object + type->next) ||
	    (type->second && next && READ_USER(&next, next + type->second))) {
		a->end = COUNTER_AwaitsUnreadable;
		return 1;
	}
	a->object = next;
	return 0;
}

__noinline int dotnet_follow_some(__u32 first)
{
	asm volatile("" : "+r"(first));
	NOT_UNROLLED
	for (__u32 i = 0; i < AWAIT_HOPS_AT_ONCE; i++) {
		if (dotnet_follow(first + i))
			return 1;
	}
	return 0;
}

/* Follows those that await from the object of what was resumed on. Returns the counter of how that ended. */
static __always_inline __u32 dotnet_follow_all(struct awaits *a)
{
	NOT_UNROLLED
	for (__u32 first = 0; first < AWAIT_HOPS; first += AWAIT_HOPS_AT_ONCE) {
		if (dotnet_follow_some(first))
			return a->end;
	}
	return COUNTER_AwaitsLimit;
}

/* Finds those that await what the framework resumed in this walk. */
__noinline int dotnet_find_awaits(void)
{
	struct walk *w = current_walk();
	struct awaits *a = current_awaits();

	if (!w || !a)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	a->machine = 0;
	if (!d->is_task) {
		a->machine = d->machine;
		if (!a->machine && d->mover_place)
			a->machine = dotnet_ask_file_role(w, d->mover_place) >> DOTNET_MACHINE_SHIFT;
		if (!a->machine)
			return 0;
	}
	a->cfa = d->resumed_cfa;
	a->unknown = 0;
	a->count = 0;
	a->several = 0;
	a->end = 0;
	a->object = 0;
	add_counter(COUNTER_AwaitsAttempts, 1);
	int is_found = dotnet_find_resumed(w, a);
	/* Another one that is further in may be the one. */
	__u32 end = a->unknown ? COUNTER_AwaitsUnknown : is_found ? dotnet_follow_all(a) : COUNTER_AwaitsNotFound;
	add_counter(end, 1);
	if (end != COUNTER_AwaitsFound && end != COUNTER_AwaitsNobody)
		return 0;
	if (a->several)
		add_counter(COUNTER_AwaitsSeveral, 1);
	add_counter(COUNTER_AwaitsFrames, a->count);
	push_awaits(w, a, INTERPRETER_DOTNET, d->resumed, d->pool ? SCHEDULER_THREAD_POOL : SCHEDULER_OTHER);
	return 0;
}

#endif
