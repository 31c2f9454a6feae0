/**
 * Ends a test run with one line, `N passed, N failed, N skipped`, after the reason of each skip.
 * On the machine that all changes are tested on (CI=true) the tests of the running kernel must
 * run: a skip of one is a failure there, unless its reason starts with "machine:", which says what
 * no installation gives it: hardware, or a way that its kernel was built.
 */
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const notes: string[] = [];
    for (const module of modules) {
      // A file that could not be loaded holds no tests that could fail.
      if (module.errors().length > 0) count.failed++;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state !== "skipped") {
          if (result.state === "passed") count.passed++;
          else count.failed++;
          continue;
        }
        const reason = result.note ?? "no reason given";
        const isFailure = mustRun(module) && !reason.startsWith("machine:");
        count[isFailure ? "failed" : "skipped"]++;
        // Without a reason it was left out by whoever chose the tests to run.
        if (!isFailure && result.note === undefined) continue;
        notes.push(`${isFailure ? "must not be skipped" : "skipped"}: ${test.fullName}: ${reason}`);
      }
    }
    if (count.failed > 0) process.exitCode = 1;
    const last = `${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`;
    // At exit, so that it stands below what other reporters print.
    process.on("exit", () => process.stdout.write(`${[...notes, last].join("\n")}\n`));
  }
}

const mustRun = (module: TestModule): boolean =>
  process.env.CI === "true" && module.moduleId.includes("/test/live/");
