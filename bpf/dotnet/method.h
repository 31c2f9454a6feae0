/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * User space is told of a .NET method at its first sight. By then it must be possible to name it without asking again:
 * a moment later its process may be gone, or a dynamic method collected and its MethodDesc given to another one.
 */
#ifndef POLYTOP_DOTNET_METHOD_H
#define POLYTOP_DOTNET_METHOD_H

#include "../results.h"
#include "../unwind/mapping.h"
#include "section.h"

/* So many words of a dynamic method's name tell it from others. */
#define NAME_WORDS (DOTNET_NAME_LENGTH / 8)

/* Reads a dynamic method's name into the record. Returns a hash of it and of its place; 0 for other methods. */
static __always_inline __u64 read_dynamic_name(struct dotnet_walk *d)
{
	struct method_record *r = &d->record;
	__u64 name, hash = 0;
	__u64 *words = (__u64 *)r->name;
	__u16 flags;

	if (READ_USER(&flags, d->method_desc + DOTNET_METHOD_FLAGS) ||
	    (flags & DOTNET_CLASS_MASK) != DOTNET_CLASS_DYNAMIC)
		return 0;
	if (READ_USER(&name, d->method_desc + d->process.facts.dynamic_name))
		return 0;
	/* What is hashed is all zero behind the end of the name. */
	__builtin_memset(r->name, 0, DOTNET_NAME_LENGTH);
	long length = READ_USER_STRING(r->name, DOTNET_NAME_LENGTH, name);
	if (length <= 1)
		return 0;
	r->name_length = length - 1;
#pragma unroll
	for (int i = 0; i < NAME_WORDS; i++)
		hash = mix(hash, words[i]);
	/* Two methods of one name mostly have it at different places. */
	return hash ^ name;
}

#define METHOD_CHUNK_BYTES 24 /* sizeof MethodDescChunk */
#define METHOD_TYPE_BYTES 24  /* sizeof MethodTable up to its module */

/* The address of the image of a module; 0 if it cannot be told. */
static __always_inline __u64 dotnet_image_of(struct dotnet_walk *d, __u64 module)
{
	const struct dotnet_facts *facts = &d->process.facts;
	__u64 address = 0;

	if (facts->module_base) {
		if (READ_USER(&address, module + facts->module_base))
			return 0;
		return address;
	}
	/* PEAssembly has the pointer to its PEImage at 8. */
	if (READ_USER(&address, module + facts->module_assembly) || !address || READ_USER(&address, address + 8) ||
	    !address || READ_USER(&address, address + facts->image_layout) || !address ||
	    READ_USER(&address, address + facts->layout_base))
		return 0;
	return address;
}

/*
 * Puts into the record which row of which image's metadata the method is. What cannot be told here is left 0: user
 * space asks the process.
 */
__noinline int dotnet_describe_method(void)
{
	struct walk *w = current_walk();
	__u32 flags;

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	struct method_record *r = &d->record;
	__u8 *bytes = d->bytes;
	if (READ_USER_BYTES(bytes, 8, d->method_desc))
		return 0;
	__u32 remainder = *(__u16 *)bytes;
	__u32 kind = bytes[DOTNET_METHOD_FLAGS] & DOTNET_CLASS_MASK;
	if (kind == DOTNET_CLASS_DYNAMIC || kind == DOTNET_CLASS_ARRAY)
		return 0;
	/* MethodDescChunk: MethodTable (8), next (8), sizes (2), flags and token range (2). */
	if (READ_USER_BYTES(bytes, METHOD_CHUNK_BYTES, d->method_desc - 8ULL * bytes[2] - METHOD_CHUNK_BYTES))
		return 0;
	__u32 bits = d->process.facts.token_bits & 31;
	__u64 type = *(__u64 *)bytes;
	r->row = (*(__u16 *)(bytes + 18) & ((1U << (24 - (bits > 24 ? 24 : bits))) - 1)) << bits |
		 (remainder & ((1U << bits) - 1));
	if (READ_USER(&flags, type))
		return 0;
	__u64 module = d->process.facts.type_module;
	if (!module) {
		/* 8.0 keeps the module of other types elsewhere. */
		if (flags & (DOTNET_TYPE_COMPONENTS | DOTNET_TYPE_GENERICS))
			return 0;
		module = METHOD_TYPE_BYTES;
	}
	if (READ_USER(&module, type + module))
		return 0;
	r->image = dotnet_image_of(d, module);
	return 0;
}

/*
 * Puts into the record which file its image is in, and where, so that the method can be named by the file when the
 * process is gone. Both are left 0 for an image that lies in memory of no file.
 */
__noinline int dotnet_place_image(void)
{
	struct walk *w = current_walk();

	if (!w)
		return 0;
	struct method_record *r = &w->dotnet.record;
	w->address = r->image;
	find_vma();
	struct vm_area_struct *vma = w->vma;
	if (!vma)
		return 0;
	struct file *file = BPF_CORE_READ(vma, vm_file);
	if (!file)
		return 0;
	int is_memory_file = identify_file(w, BPF_CORE_READ(file, f_inode));
	if (!bpf_map_lookup_elem(&file_ids, &w->file.key)) {
		/* It holds code that the process generates. */
		if (is_memory_file)
			return 0;
		ask_for_file();
	}
	r->image_file = w->file.key;
	r->image_offset = file_offset(vma, r->image);
	r->is_of_file = r->row || r->kind == DOTNET_IMAGE;
	return 0;
}

/*
 * Tells user space of the method at d->start unless it knows, and puts its frame word into d->at. The generation in
 * the word changes when the address is given to another method.
 */
__noinline int dotnet_notice_method(__u32 kind)
{
	struct walk *w = current_walk();
	__u64 generation;

	if (!w)
		return 0;
	struct dotnet_walk *d = &w->dotnet;
	struct method_record *r = &d->record;
	struct dotnet_section *s = &d->process.sections[d->found & (DOTNET_SECTIONS - 1)];
	d->method.program = w->program;
	d->method.method_desc = d->method_desc;
	d->method.identity = 0;
	d->method.generation = 0;
	r->name_length = 0;
	struct dotnet_method *known = find_memo(&w->memo, MEMO_DOTNET_METHOD, w->tgid, d->start);
	int is_same = known && known->program == d->method.program && known->method_desc == d->method_desc;
	if (kind == DOTNET_JIT && (!is_same || s->collectible))
		d->method.identity = read_dynamic_name(d);
	/* What may be collected is asked who it is each time: all of its addresses may be used again. */
	d->method.identity = s->collectible ? mix(d->method.identity, s->allocator_number) | 1 : 0;
	if (is_same && known->identity == d->method.identity) {
		generation = known->generation;
		goto out;
	}
	if (known)
		d->method.generation = known->generation + 1;
	else if (s->collectible) /* The address may have been forgotten: a number that was hardly used before. */
		d->method.generation = d->method.identity ^ d->method_desc >> 3;
	d->method.generation &= DOTNET_GENERATIONS - 1;
	generation = d->method.generation;

	r->type = RECORD_METHOD;
	r->tgid = w->tgid;
	r->word = (__u64)FRAME_DOTNET << FRAME_KIND_SHIFT | generation << DOTNET_GENERATION_SHIFT | d->start;
	r->method_desc = d->method_desc;
	r->image = kind == DOTNET_IMAGE ? s->begin : 0;
	r->image_offset = 0;
	r->row = 0;
	r->is_of_file = 0;
	r->kind = kind;
	__builtin_memset(&r->image_file, 0, sizeof(r->image_file));
	if (kind == DOTNET_JIT && !r->name_length)
		dotnet_describe_method();
	if (r->image)
		dotnet_place_image();
	r->bias = d->process.bias;
	r->space = d->method.program;
	r->allocator = s->allocator;
	r->allocator_number = s->allocator_number;
	r->file = d->process.file;
	__u64 size = sizeof(*r) - DOTNET_NAME_LENGTH + r->name_length;
	asm volatile("" : "+r"(size));
	size &= 511;
	/* Only what its process alone can name is read while that lives. */
	__u64 flags = r->is_of_file || r->name_length ? unhurried() : BPF_RB_FORCE_WAKEUP;
	if (size <= sizeof(*r) && !bpf_ringbuf_output(&records, r, size, flags)) {
		add_counter(COUNTER_UnwindDotnetMethodsSeen, 1);
		keep_memo(&w->memo, MEMO_DOTNET_METHOD, w->tgid, d->start, d->method);
	}
out:
	d->at = (__u64)FRAME_DOTNET << FRAME_KIND_SHIFT | generation << DOTNET_GENERATION_SHIFT | d->start;
	return 0;
}

#endif
