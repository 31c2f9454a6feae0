/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Processes that run managed code. What is known of one is in the file of its runtime: where that is mapped, as the
 * first frame in the runtime's own code tells or place.h finds, gives the address of its code range map.
 */
#ifndef POLYTOP_DOTNET_PROCESS_H
#define POLYTOP_DOTNET_PROCESS_H

#include "../walk.h"

/* Runtimes by the id of their file: user space writes, the walk reads. */
MAP(dotnets, HASH, MAX_DOTNETS, __u32, struct dotnet_facts);

/* Processes by tgid: the memory of the walk alone. */
MAP(dotnet_processes, LRU_HASH, 1024, __u32, struct dotnet_process);

static __always_inline void dotnet_start(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	d->looked_up = 0;
	d->looked_for = 0;
	d->frames = 0;
	d->error = 0;
	d->process.top = 0;
	d->sections_changed = 0;
	d->resumed = 0;
	d->mover = 0;
}

/* Whether the process is known to run managed code. */
static __always_inline int dotnet_runs_in(__u32 tgid)
{
	return bpf_map_lookup_elem(&dotnet_processes, &tgid) != NULL;
}

/* Takes over what is known of the process. Returns whether it runs managed code. A global function, as the next one. */
__noinline int dotnet_know_process(void)
{
	struct walk *w = current_walk();
	struct dotnet_process *known;

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	if (!d->looked_up) {
		d->looked_up = 1;
		known = bpf_map_lookup_elem(&dotnet_processes, &w->tgid);
		if (known && known->program == w->program)
			d->process = *known;
	}
	return d->process.top != 0;
}

/*
 * Reads the address of the code range map of a process that was not known before. `file`: the id of its runtime's;
 * `shift`: address - file offset of its mapped code. Returns whether there is a map by now. A global function: it is
 * verified once.
 */
__noinline int dotnet_enter_process(__u32 file, __u64 shift)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	struct dotnet_facts *facts = bpf_map_lookup_elem(&dotnets, &file);
	if (!facts)
		return 0;
	d->process.program = w->program;
	d->process.file = file;
	d->process.next_section = 0;
	for (int i = 0; i < DOTNET_SECTIONS; i++)
		d->process.sections[i].end = 0;
	d->process.facts = *facts;
	d->process.bias = shift - facts->shift;
	if (READ_USER(&d->process.top, d->process.bias + facts->table))
		d->process.top = 0;
	if (d->process.top)
		bpf_map_update_elem(&dotnet_processes, &w->tgid, &d->process, BPF_ANY);
	return d->process.top != 0;
}

/* A frame is in the runtime's own code. */
static __always_inline void dotnet_enter_runtime(struct mapping *m)
{
	if (!dotnet_know_process())
		dotnet_enter_process(m->interpreter_index, m->start - m->offset);
}

/* Remembers the sections for the next sample; collectible ones may be gone by then. */
static __always_inline void dotnet_remember_sections(struct walk *w)
{
	struct dotnet_walk *d = &w->dotnet;

	for (int i = 0; i < DOTNET_SECTIONS; i++) {
		if (d->process.sections[i].collectible)
			d->process.sections[i].end = 0;
	}
	if (d->process.top)
		bpf_map_update_elem(&dotnet_processes, &w->tgid, &d->process, BPF_ANY);
}

#endif
