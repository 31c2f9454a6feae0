/**
 * Keeps what polytop itself costs in a budget, by the sampling rate: the one thing that can be lowered
 * while it runs. Pure: each refresh's cost goes in, the rate to sample at comes out.
 */

/** Percent of one CPU that all of polytop may take: threads, children, BPF programs and ticks. */
export const DEFAULT_BUDGET_PERCENT = 3;

/** Below this a rate shows too little to be of use; a rate that was asked to be lower stays. */
export const FLOOR_HZ = 12;

/** A rate is judged by an average. */
const WINDOW_SECONDS = 10;
const WINDOW_REFRESHES = 3;

/**
 * One refresh counts as so many budgets at most. To read the tables of a big file takes a CPU for a
 * moment, at whatever rate: that is no reason to see less.
 */
const MOST_BUDGETS = 2;

/** Not judged at all: names and tables of what runs already are read at the start. */
const START_SECONDS = 5;

/** How long the cost must be low before a higher rate is tried; doubled each time that was in vain. */
const FIRST_WAIT_SECONDS = 30;
const LONGEST_WAIT_SECONDS = 480;

/** Twice the rate costs at most twice as much, and mostly less. */
const ROOM_TO_DOUBLE = 0.5;

/** A second without that room takes back so many with it. */
const SETBACK = 2;

/** What is kept from refresh to refresh. */
export interface BudgetState {
  /** The rate that was asked for, samples a second on each CPU. */
  readonly wanted: number;
  /** The rate now: what was asked for, halved so many times. */
  readonly frequency: number;
  readonly halvings: number;
  /** Percent of one CPU; 0: no limit. */
  readonly budgetPercent: number;
  /** How long the rate of now is in force; at the start what is left of it, negative. */
  readonly seconds: number;
  readonly refreshes: number;
  /** Costs at this rate, older ones fading: percent times seconds, and the seconds. */
  readonly cost: number;
  readonly weight: number;
  /** For how long the average left room for twice the rate. */
  readonly calmSeconds: number;
  /** How long that must be. */
  readonly waitSeconds: number;
  /** What the rate before this one cost, where that was too much. */
  readonly refused?: { readonly frequency: number; readonly percent: number };
  /** The rate of now was tried after a lower one. */
  readonly raised: boolean;
}

const UNKNOWN = { seconds: 0, refreshes: 0, cost: 0, weight: 0, calmSeconds: 0 };

/** The state at the start. */
export const startBudget = (wanted: number, budgetPercent: number): BudgetState => ({
  wanted,
  frequency: wanted,
  halvings: 0,
  budgetPercent,
  ...UNKNOWN,
  seconds: -START_SECONDS,
  waitSeconds: FIRST_WAIT_SECONDS,
  raised: false,
});

/** After one refresh: how long it was and what it cost, in percent of one CPU. */
export function spend(state: BudgetState, seconds: number, percent: number): BudgetState {
  if (state.budgetPercent <= 0) return state;
  if (state.seconds < 0) return { ...state, seconds: Math.min(0, state.seconds + seconds) };
  const fade = Math.exp(-seconds / WINDOW_SECONDS);
  const counted = Math.min(percent, state.budgetPercent * MOST_BUDGETS);
  const cost = state.cost * fade + seconds * counted;
  const weight = state.weight * fade + seconds;
  const average = weight > 0 ? cost / weight : 0;
  const isCalm = average < state.budgetPercent * ROOM_TO_DOUBLE;
  const next: BudgetState = {
    ...state,
    seconds: state.seconds + seconds,
    refreshes: state.refreshes + 1,
    cost,
    weight,
    calmSeconds: isCalm
      ? state.calmSeconds + seconds
      : Math.max(0, state.calmSeconds - SETBACK * seconds),
  };
  if (next.seconds < WINDOW_SECONDS || next.refreshes < WINDOW_REFRESHES) return next;
  if (average > next.budgetPercent) return lowered(next, average);
  return next.frequency < next.wanted && next.calmSeconds >= next.waitSeconds ? raised(next) : next;
}

/** The rate after so many halvings. */
const rateAt = (wanted: number, halvings: number): number =>
  Math.max(Math.min(FLOOR_HZ, wanted), Math.floor(wanted / 2 ** halvings));

function atHalvings(state: BudgetState, halvings: number): BudgetState {
  return { ...state, ...UNKNOWN, halvings, frequency: rateAt(state.wanted, halvings) };
}

function lowered(state: BudgetState, average: number): BudgetState {
  const next = atHalvings(state, state.halvings + 1);
  if (next.frequency === state.frequency) return state;
  const waitSeconds = state.raised
    ? Math.min(LONGEST_WAIT_SECONDS, state.waitSeconds * 2)
    : state.waitSeconds;
  const refused = { frequency: state.frequency, percent: average };
  return { ...next, waitSeconds, raised: false, refused };
}

const raised = (state: BudgetState): BudgetState => ({
  ...atHalvings(state, state.halvings - 1),
  raised: true,
});

/** A lower rate shows so little that its reader must know what a higher one would cost. */
const FEW_HZ = 25;

/** What to tell the reader while the rate is lower than asked for. */
export function budgetNotice(state: BudgetState): string | undefined {
  const { frequency, wanted, budgetPercent, refused } = state;
  if (frequency >= wanted) return undefined;
  const otherwise =
    frequency < FEW_HZ && refused
      ? `, ${refused.percent.toFixed(1)} % at ${refused.frequency} Hz`
      : "";
  return `${frequency} Hz, not ${wanted}: polytop took over ${budgetPercent} % of a CPU${otherwise}`;
}
