/** polytop doctor: prints what this machine lacks, and what mends it. */
import { diagnose, diagnosisJson, formatDiagnosis } from "../doctor/doctor.ts";
import { readFacts } from "../doctor/facts.ts";
import { readInstallation } from "../machine/installation.ts";
import type { Options } from "../options/asked.ts";
import { EXIT_CANNOT, EXIT_OK } from "../tick/errors.ts";
import { print } from "./lifetime.ts";

/** Returns the exit status: whether polytop can run here. */
export async function doctor({ json }: Options & { command: "doctor" }): Promise<number> {
  const diagnosis = diagnose(readFacts(), readInstallation());
  await print(json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis));
  return diagnosis.canRun ? EXIT_OK : EXIT_CANNOT;
}
