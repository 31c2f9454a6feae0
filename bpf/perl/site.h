/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A site is the place of a Perl frame in the op tree. User space gets the sites with each new stack, and finds the
 * exact lines by them, as long as the process lives.
 */
#ifndef POLYTOP_PERL_SITE_H
#define POLYTOP_PERL_SITE_H

#include "../results.h"
#include "../walk.h"

/* Statements with more than one line: user space writes, the walk reads. */
MAP(perl_splits, LRU_HASH, 4096, struct perl_split_key, __u8);

volatile __u32 has_perl_splits = 0; /* something is in `perl_splits`; user space writes */

/* The site of the frame that is being looked at; 0 where it is in no statement. */
static __always_inline __u64 current_site(struct perl_walk *p)
{
	__s64 words = (__s64)(p->op - p->statement) >> 3;
	__s64 limit = 1LL << (PERL_SITE_OP_BITS - 1);

	if (!p->statement)
		return 0;
	if (!p->op || words >= limit || words < -limit)
		words = 0;
	return p->statement >> 3 << PERL_SITE_STATEMENT_SHIFT | (p->op_is_next ? PERL_SITE_NEXT : 0) |
	       (words & PERL_SITE_OP_MASK);
}

/* Goes from a frame to that of its caller, which called in a statement and goes on with an op. */
static __always_inline void enter_perl_caller(struct perl_walk *p, __u64 statement, __u64 op)
{
	p->statement = statement;
	p->op = op;
	p->op_is_next = 1;
}

/*
 * Notes the site of the frame that is being looked at, if it has one, as that of Perl frame `number`. A site in a
 * statement with several lines makes the stack another.
 */
static __always_inline void keep_site(struct walk *w, __u32 number, int has_site)
{
	struct perl_split_key *key = &w->perl.split;

	if (number >= PERL_SITES)
		return;
	__u64 site = has_site ? current_site(&w->perl) : 0;
	w->perl.sites.sites[number & (PERL_SITES - 1)] = site;
	if (!site || !has_perl_splits)
		return;
	key->tgid = w->tgid;
	key->statement = w->perl.statement;
	if (bpf_map_lookup_elem(&perl_splits, key))
		w->record.hash = mix(w->record.hash, site);
}

/* Sends the sites of a new stack, before it. Returns 0, or -1 if the ring is full. */
static __always_inline int perl_send_sites(struct walk *w)
{
	struct perl_sites_record *record = &w->perl.sites;
	__u64 count = w->perl.words < PERL_SITES ? w->perl.words : PERL_SITES;
	__u64 size = __builtin_offsetof(struct perl_sites_record, sites) + count * sizeof(record->sites[0]);

	if (!w->perl.words)
		return 0;
	record->type = RECORD_PERL_SITES;
	record->tgid = w->tgid;
	record->hash = w->record.hash;
	record->perl = w->perl.met.file;
	asm volatile("" : "+r"(size));
	size &= 1023;
	if (size > sizeof(*record))
		return -1;
	return bpf_ringbuf_output(&records, record, size, BPF_RB_NO_WAKEUP) ? -1 : 0;
}

#endif
