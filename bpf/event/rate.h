/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which hits of an event are walked. A walk takes microseconds, and a function may be called a million times a second:
 * then one hit of many is walked and counted for all of them. Hits come in blocks, and the place of the walked one in
 * its block is random, so that no pattern of the program meets it always or never. Whatever the length of the blocks,
 * sums are right to less than one of them.
 */
#ifndef POLYTOP_EVENT_RATE_H
#define POLYTOP_EVENT_RATE_H

#include "../abi.h"
#include "../kernel.h"

/* User space writes. */
MAP(event_rates, ARRAY, 1, __u32, struct event_rate);

/* The program writes, user space reads. */
MAP(event_states, PERCPU_ARRAY, 1, __u32, struct event_state);

/* The rate of hits is measured in times of this length. */
#define WINDOW_NANOSECONDS 20000000ULL
#define SECOND_NANOSECONDS 1000000000ULL
#define LONGEST_PERIOD (1ULL << 32)

static __always_inline void begin_block(struct event_state *state, __u64 period)
{
	state->position = 0;
	state->period = period;
	state->chosen = period > 1 ? bpf_get_prandom_u32() % period : 0;
}

/* How long blocks must be at the rate that was measured, so that no more hits are walked than may be. */
static __always_inline __u64 measured_period(struct event_state *state, struct event_rate *rate, __u64 elapsed)
{
	__u64 hits = state->hits - state->window_hits;
	__u64 allowed = elapsed * rate->per_second / SECOND_NANOSECONDS;
	__u64 period = hits / (allowed ? allowed : 1);

	if (period > LONGEST_PERIOD)
		period = LONGEST_PERIOD;
	return period > rate->period ? period : rate->period;
}

static __always_inline void begin_window(struct event_state *state, __u64 now)
{
	state->window = now;
	state->window_hits = state->hits;
	state->window_walks = 0;
}

/* Hits have become rare since blocks were made as long as they are: a shorter one begins. */
static __always_inline void follow_drain(struct event_state *state, struct event_rate *rate)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = now - state->window;

	state->drains = rate->drains;
	if (elapsed < WINDOW_NANOSECONDS)
		return;
	__u64 period = measured_period(state, rate, elapsed);
	begin_window(state, now);
	if (period > state->period / 2)
		return;
	state->unseen += state->position > state->chosen ? state->position - state->period : state->position;
	begin_block(state, period);
}

/* Ends a block: the next one is as long as the rate asks for. */
static __always_inline void end_block(struct event_state *state, struct event_rate *rate)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = now - state->window, period = state->period;

	if (elapsed >= WINDOW_NANOSECONDS) {
		period = measured_period(state, rate, elapsed);
		begin_window(state, now);
	} else if (++state->window_walks > 1 + WINDOW_NANOSECONDS * rate->per_second / SECOND_NANOSECONDS) {
		state->window_walks = 0;
		if (period < LONGEST_PERIOD)
			period *= 2;
	}
	begin_block(state, period > rate->period ? period : rate->period);
}

/* One more hit. Returns how many hits it stands for if it is to be walked, else 0. */
static __always_inline __u64 count_hit(void)
{
	__u32 zero = 0;
	struct event_state *state = bpf_map_lookup_elem(&event_states, &zero);
	struct event_rate *rate = bpf_map_lookup_elem(&event_rates, &zero);

	if (!state || !rate)
		return 0;
	if (!state->period)
		begin_block(state, rate->period);
	if (state->drains != rate->drains)
		follow_drain(state, rate);
	state->hits++;
	__u64 place = state->position++, period = state->period;
	int is_chosen = place == state->chosen;
	if (place + 1 >= period)
		end_block(state, rate);
	if (!is_chosen)
		return 0;
	state->walks++;
	return period;
}

#endif
