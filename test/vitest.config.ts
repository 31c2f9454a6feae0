import { defineConfig } from "vitest/config";

// Tests of the machine itself run one after the other and after all others: they measure it.
const live = ["test/live/**/*.test.ts"];

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
          maxWorkers: 1,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
