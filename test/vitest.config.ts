import { defineConfig } from "vitest/config";

// Tests that profile programs of their own, two at once: each waits for its samples most of the time.
const live = ["test/live/**/*.test.ts"];
// Tests of the machine itself run one after the other and after all others: they take CPUs away, or measure the whole,
// or how long sleepers wait for a CPU too.
const alone = ["accounting", "budget", "faults", "hardship", "story", "waits"].map(
  (name) => `test/live/${name}.test.ts`,
);

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    reporters: ["default", "./test/support/summary-reporter.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          // A loaded machine is slow, not wrong.
          testTimeout: 60_000,
          include: ["test/**/*.test.{ts,tsx}"],
          exclude: live,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "live",
          include: live,
          exclude: alone,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: alone,
          maxWorkers: 1,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
