/** polytop doctor: prints what this machine lacks, and what mends it. */
import { loadAddon } from "../addon/binding.ts";
import {
  afterTrial,
  type Diagnosis,
  diagnose,
  diagnosisJson,
  formatDiagnosis,
} from "../doctor/doctor.ts";
import { readFacts } from "../doctor/facts.ts";
import { readInstallation } from "../machine/installation.ts";
import { samplingObject, waitObject } from "../machine/native-folder.ts";
import type { Options } from "../options/asked.ts";
import { EXIT_CANNOT, EXIT_OK } from "../tick/errors.ts";
import { print, warn } from "./lifetime.ts";

/** Returns the exit status: whether polytop can run here. */
export async function doctor({ json }: Options & { command: "doctor" }): Promise<number> {
  const diagnosis = examine();
  await print(json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis));
  return diagnosis.canRun ? EXIT_OK : EXIT_CANNOT;
}

/** The kernel is asked for its word on the programs where nothing that it says of itself is against them. */
function examine(): Diagnosis {
  const diagnosis = diagnose(readFacts(), readInstallation());
  if (!diagnosis.canRun) return diagnosis;
  const refusals = loadAddon().tryToLoad(samplingObject(), waitObject());
  if (process.env.POLYTOP_DEBUG)
    for (const reasons of [refusals.sampling, refusals.waits].filter(Boolean)) warn(reasons);
  return afterTrial(diagnosis, refusals);
}
