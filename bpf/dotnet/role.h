/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What methods are to who looks for those that await (enum dotnet_role), as user space says by their names. The walk
 * notes where it leaves the innermost async method that the framework resumed: from there on its frames are the
 * scheduler's, and awaits.h looks for the object of that method.
 */
#ifndef POLYTOP_DOTNET_ROLE_H
#define POLYTOP_DOTNET_ROLE_H

#include "../walk.h"

/* User space writes, the walk reads. */
MAP(dotnet_roles, LRU_HASH, 8192, struct dotnet_role_key, struct dotnet_role_value);

/* Changes whenever user space has told of roles of methods of processes: user space writes. */
volatile __u32 dotnet_roles_version = 1;

/* The role of a place (struct dotnet_role_key), with the number of its state machine. */
static __noinline __u32 dotnet_ask_role(struct walk *w, __u64 place, __u32 tgid, __u32 shift)
{
	struct dotnet_role_key *key = &w->dotnet.role_key;

	key->place = place;
	key->tgid = tgid;
	key->shift = shift;
	struct dotnet_role_value *known = bpf_map_lookup_elem(&dotnet_roles, key);
	return known && (!tgid || known->space == w->program) ? known->role : DOTNET_ORDINARY;
}

/* The role of code of a file, by a frame word. */
static __noinline __u32 dotnet_ask_file_role(struct walk *w, __u64 place)
{
	__u32 role = dotnet_ask_role(w, place >> DOTNET_LARGE_BLOCK_SHIFT, 0, DOTNET_LARGE_BLOCK_SHIFT);

	return role != DOTNET_ORDINARY
		       ? role
		       : dotnet_ask_role(w, place >> DOTNET_SMALL_BLOCK_SHIFT, 0, DOTNET_SMALL_BLOCK_SHIFT);
}

/*
 * Notes the role of the managed frame that was just appended, before the walk goes on: w->sp is where the frame
 * further in was called from. `place`: its frame word, where the role comes without the number of the state machine.
 */
static __always_inline void dotnet_note_role(struct walk *w, __u32 role, __u64 place)
{
	struct dotnet_walk *d = &w->dotnet;
	__u32 inner = w->record.frame_count - 1;

	if (role <= DOTNET_ORDINARY)
		return;
	__u32 kind = role & DOTNET_ROLE_MASK;
	if (d->resumed) {
		if (kind == DOTNET_POOLS)
			d->pool = 1;
		return;
	}
	if (kind == DOTNET_MOVES) {
		d->mover = inner + 1;
		d->machine = role >> DOTNET_MACHINE_SHIFT;
		d->mover_place = place;
		return;
	}
	if (kind != DOTNET_RUNS_TASK && (d->mover != inner || !inner))
		return;
	d->resumed = inner;
	d->is_task = kind == DOTNET_RUNS_TASK;
	d->pool = kind == DOTNET_POOLS;
	d->resumed_cfa = w->sp;
}

#endif
