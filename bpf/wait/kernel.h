/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The kernel structs that only the sweep touches, as those of ../kernel.h. */
#ifndef POLYTOP_WAIT_KERNEL_H
#define POLYTOP_WAIT_KERNEL_H

#include "../kernel.h"

struct bpf_iter_meta;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct kernfs_node {
	__u64 id;
} RELOCATED;

struct cgroup {
	struct kernfs_node *kn;
} RELOCATED;

struct css_set {
	struct cgroup *dfl_cgrp;
} RELOCATED;

/* A plain number would find no relocation in the kernel's types. */
typedef struct {
	__u32 val;
} RELOCATED kuid_t;

struct cred {
	kuid_t uid;
} RELOCATED;

struct sched_entity___runtime {
	__u64 sum_exec_runtime;
} RELOCATED;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} RELOCATED;

struct files_struct {
	struct fdtable *fdt;
} RELOCATED;

/* The variants add fields to those that the walk touches. */
struct task_struct___wait {
	unsigned int pid;
	unsigned int on_cpu; /* a byte from 7.2 on */
	unsigned int exit_state;
	unsigned in_iowait : 1;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct sched_entity___runtime se;
	struct sched_info sched_info;
	struct css_set *cgroups;
	const struct cred *cred;
	struct files_struct *files;
} RELOCATED;

/* From 5.14 on the state has this name. */
struct task_struct___new_state {
	unsigned int __state;
} RELOCATED;

struct task_struct___old_state {
	unsigned long state;
} RELOCATED;

struct file___data {
	void *private_data;
} RELOCATED;

struct inode___mode {
	unsigned short i_mode;
} RELOCATED;

struct sock_common {
	volatile unsigned char skc_state;
} RELOCATED;

struct sock {
	struct sock_common __sk_common;
} RELOCATED;

struct socket {
	struct sock *sk;
} RELOCATED;

#endif
