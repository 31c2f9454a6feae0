/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The name of a sub: the hash of its strings (sub, package, file), the same in every process that
 * runs the script. The strings are read out of the sampled task at the first sight of a sub and
 * sent to user space once, so that a name outlives its process.
 *
 * Layouts are those of perl 5.28 to 5.44 (sv.h, cv.h, gv.h, hv.h), equal with and without threads.
 */
#ifndef POLYTOP_PERL_NAME_H
#define POLYTOP_PERL_NAME_H

#include "../runtimes/names.h"
#include "loop.h"

/* struct sv: any 0, reference count 8, flags 12, u 16; sv_type in the low byte of the flags. */
#define SV_TYPE(head) (((head)[1] >> 32) & 0xff)
#define SV_FLAGS(head) ((head)[1] >> 32)
#define SVT_PVGV 9
#define SVT_PVLV 10
#define SVT_PVHV 12
#define SVT_PVCV 13
#define SVT_PVFM 14
#define SVF_HAS_AUX 0x02000000 /* SVf_OOK of a hash: it has a name */
#define SVF_HAS_GP 0x8000

#define CVF_ISXSUB 0x8
#define CVF_CLONED 0x40
#define CVF_CVGV_RC 0x400 /* the sub counts as a reference to its glob */
#define CVF_NAMED 0x8000
#define CVF_LEXICAL 0x10000

#define CV_BODY_FROM 32
#define CV_GLOB 56
#define CV_FLAGS 92
#define GV_NAME 32
#define GV_STASH 40
#define GV_STASH_WIDE 48
#define GP_EGV 56
#define HV_MAX 24
#define HV_AUX_IN_BODY 32
#define AUX_NAME_COUNT 28
#define HEK_HEADER 8
#define MAX_HEK 65536

/*
 * Reads the shared string (struct hek: hash, length, bytes, NUL, flags) at w->perl.string into a part of the name.
 * Returns 0, or -1 if it is unreadable or no such string.
 */
__noinline int perl_read_hek(__u32 number)
{
	struct walk *w = current_walk();
	__u8 flags;

	asm volatile("" : "+r"(number));
	if (!w || number >= NAME_PARTS)
		return -1;
	struct name_part *part = &w->name.parts[number];
	__u64 address = w->perl.string;
	/* Most strings are short: header and 64 bytes blindly, which is one read. */
	if (READ_USER_BYTES(part, HEK_HEADER + 64, address) && READ_USER_BYTES(part, HEK_HEADER, address))
		return -1;
	__u32 length = part->length;
	if (length > MAX_HEK)
		return -1;
	__u32 size = length + 2 < NAME_PART_BYTES + 8 ? length + 2 : NAME_PART_BYTES + 8;
	asm volatile("" : "+r"(size));
	size &= 511;
	if (size > NAME_PART_BYTES + 8)
		return -1;
	if (size > 64 && READ_USER_BYTES(part->bytes, size, address + HEK_HEADER))
		return -1;
	if (length < NAME_PART_BYTES)
		flags = part->bytes[length + 1];
	else if (READ_USER_BYTES(&flags, 1, address + HEK_HEADER + length + 1))
		return -1;
	part->encoding = flags & 1 ? NAME_UTF8 : NAME_LATIN1;
	/* Names with an equal beginning must not be taken for one. */
	if (length > NAME_PART_BYTES)
		w->name_hash = mix(w->name_hash, address ^ (__u64)w->tgid << 48);
	return 0;
}

/* Reads the C string at w->perl.string into the file part; an eval's number is left out. */
__noinline int perl_read_file(void)
{
	struct walk *w = current_walk();

	if (!w)
		return -1;
	struct name_part *part = &w->name.parts[PERL_PART_FILE];
	part->encoding = NAME_FILE;
	part->length = 0;
	if (!w->perl.string)
		return 0;
	long size = READ_USER_STRING(part->bytes, NAME_PART_BYTES, w->perl.string);
	if (size <= 0)
		return -1;
	/* The longest that fits may be longer: then it is marked as cut. */
	part->length = size == NAME_PART_BYTES ? NAME_PART_BYTES + 1 : size - 1;
	if (part->length > 6 && *(__u32 *)part->bytes == 0x61766528 /* "(eva" */ && part->bytes[4] == 'l' &&
	    part->bytes[5] == ' ' && part->bytes[6] >= '0' && part->bytes[6] <= '9')
		part->length = 5;
	return 0;
}

/* Reads the name of the stash w->perl.string (a hash with a name: struct xpvhv_aux) into the package part. */
__noinline int perl_read_stash(__u32 index)
{
	struct walk *w = current_walk();
	struct perl_file *file = bpf_map_lookup_elem(&perls, &index);
	__u64 head[3], aux, name, highest;
	__s32 count;

	if (!w || !file)
		return -1;
	w->name.parts[PERL_PART_PACKAGE].length = 0;
	w->name.parts[PERL_PART_PACKAGE].encoding = NAME_LATIN1;
	if (!w->perl.string)
		goto nameless;
	if (READ_USER(&head, w->perl.string))
		return -1;
	if (SV_TYPE(head) != SVT_PVHV || !(SV_FLAGS(head) & SVF_HAS_AUX))
		goto nameless;
	if (file->flags & PERL_AUX_IN_BODY) {
		aux = head[0] + HV_AUX_IN_BODY;
	} else {
		if (READ_USER(&highest, head[0] + HV_MAX))
			return -1;
		aux = head[2] + 8 * (highest + 1);
	}
	if (READ_USER(&name, aux) || READ_USER(&count, aux + AUX_NAME_COUNT))
		return -1;
	/* More than one name: the word points to a list of them, the first is what caller() says. */
	if (name && count && READ_USER(&name, name))
		return -1;
	if (!name)
		goto nameless;
	w->perl.string = name;
	return perl_read_hek(PERL_PART_PACKAGE);
nameless:
	w->name.flags |= PERL_NAME_NO_STASH;
	return 0;
}

/* Reads the name and the stash of a glob: of the one that it was first, where it was assigned to another. */
static __always_inline int read_glob(struct walk *w, struct perl_file *file, __u64 glob)
{
	__u64 stash = file->flags & PERL_WIDE_NUMBERS ? GV_STASH_WIDE : GV_STASH;
	__u64 head[3], original;

	if (READ_USER(&head, glob) || (SV_TYPE(head) != SVT_PVGV && SV_TYPE(head) != SVT_PVLV))
		return -1;
	if ((SV_FLAGS(head) & SVF_HAS_GP) && head[2]) {
		if (READ_USER(&original, head[2] + GP_EGV))
			return -1;
		if (original && original != glob && READ_USER(&head, original))
			return -1;
	}
	if (READ_USER(&w->perl.string, head[0] + GV_NAME) || perl_read_hek(PERL_PART_SUB) ||
	    READ_USER(&w->perl.string, head[0] + stash))
		return -1;
	return perl_read_stash(w->perl.met.file);
}

/* Sends the name that was made. Returns 0, or -1 if the ring is full. */
static __always_inline int send_perl_name(void)
{
	int sent = send_name();

	if (sent > 0)
		add_counter(COUNTER_PerlNamesSent, 1);
	return sent < 0 ? -1 : 0;
}

/*
 * Makes the name of the sub w->perl.cv, whose body is in w->perl.body.
 * Returns 0, or -1 if a string was unreadable.
 */
__noinline int perl_name_sub(__u32 kind)
{
	struct walk *w = current_walk();

	asm volatile("" : "+r"(kind));
	struct perl_file *file = w ? perl_walked_file(w) : NULL;
	if (!file)
		return -1;
	struct perl_cv_body *body = &w->perl.body;
	begin_name(w, INTERPRETER_PERL, kind);
	if (!body->glob) {
		w->name.flags |= PERL_NAME_NONE;
	} else if (body->flags & CVF_NAMED) {
		w->perl.string = body->glob;
		if (perl_read_hek(PERL_PART_SUB))
			return -1;
		if (!(body->flags & CVF_LEXICAL)) {
			w->perl.string = body->stash;
			if (perl_read_stash(w->perl.met.file))
				return -1;
		}
	} else if (read_glob(w, file, body->glob)) {
		return -1;
	}
	if (body->flags & CVF_LEXICAL) {
		w->name.flags |= PERL_NAME_LEXICAL;
		w->name.parts[PERL_PART_PACKAGE].length = 0;
	}
	w->perl.string = body->file;
	return perl_read_file() ? -1 : send_perl_name();
}

#endif
