/** Programs of Debian that are written in Python: whether all of their stacks are whole, and all functions named. */
import { execFileSync } from "node:child_process";
import { unpackDebian } from "../../support/debian.ts";
import { Lacking, type Row, type Section } from "../../support/measure.ts";
import { pythonFrames } from "../../support/python.ts";
import { programRows, sampleProgram } from "./loops.ts";

interface Program {
  readonly what: string;
  readonly command: readonly string[];
  /** What the program works on, made once by a shell in the root folder. */
  readonly prepare?: string;
}

const TESTS = `import pytest
@pytest.fixture
def numbers(): return list(range(200))
@pytest.mark.parametrize("n", range(1500))
def test_sum(numbers, n): assert sum(x * n for x in numbers) == n * 19900`;

const MESON = `project('many')
foreach i : range(400)
  configure_file(input: 'in', output: 'out@0@'.format(i), configuration: {'N': i})
endforeach`;

const NUMPY = `import numpy as np
def smooth(a): return np.convolve(a, np.ones(64) / 64, "same")
def rank(m): return np.linalg.svd(m, compute_uv=False)
for i in range(60):
    smooth(np.random.default_rng(i).normal(size=200000)); rank(np.ones((120, 120)) + i)
    np.vectorize(lambda x: x * x + i)(np.arange(20000))`;

const LIBRARIES = "/usr/lib/x86_64-linux-gnu";

const heredoc = (path: string, text: string): string => `cat >${path} <<'END'\n${text}\nEND\n`;

const PROGRAMS: readonly Program[] = [
  { what: "pip", command: ["pip3", "list", "--format", "json"] },
  {
    what: "pytest",
    command: ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "/tmp/test_sum.py"],
    prepare: heredoc("/tmp/test_sum.py", TESTS),
  },
  {
    what: "black",
    command: ["sh", "-c", "exec black -q --diff /tmp/black.py >/dev/null"],
    prepare: "cp /usr/lib/python3.11/argparse.py /tmp/black.py",
  },
  {
    what: "Mercurial",
    command: ["hg", "--cwd", "/tmp/hg", "verify", "-q"],
    prepare: `rm -rf /tmp/hg; hg init /tmp/hg; cp -r /usr/lib/python3.11/email /usr/lib/python3.11/json /tmp/hg/
      cd /tmp/hg; hg commit -q -A -u x -m 1; for i in 2 3 4 5 6 7 8; do find . -name '*.py' -exec sh -c 'echo >>$1' sh {} \\; ; hg commit -q -u x -m $i; done\n`,
  },
  {
    what: "Meson",
    command: ["sh", "-c", "exec meson setup --wipe /tmp/meson/out /tmp/meson >/dev/null"],
    prepare: `rm -rf /tmp/meson; mkdir -p /tmp/meson; echo '@N@' >/tmp/meson/in
      ${heredoc("/tmp/meson/meson.build", MESON)}meson setup /tmp/meson/out /tmp/meson >/dev/null\n`,
  },
  {
    what: "json.tool",
    command: ["sh", "-c", "exec python3 -m json.tool /tmp/big.json >/dev/null"],
    prepare: `python3 -c 'import json; json.dump([{"a": i, "b": [str(i)] * 9, "c": {"d": i / 7}} for i in range(40000)], open("/tmp/big.json", "w"))'\n`,
  },
  {
    what: "numpy",
    // What chooses among libraries when a package is installed did not run.
    command: [
      "env",
      `LD_LIBRARY_PATH=${LIBRARIES}/blas:${LIBRARIES}/lapack`,
      "python3",
      "/tmp/smooth.py",
    ],
    prepare: heredoc("/tmp/smooth.py", NUMPY),
  },
];

const PACKAGES = [
  ...["python3-pip", "python3-pytest", "black", "mercurial", "meson", "ninja-build"],
  ...["python3-numpy", "coreutils", "findutils", "dash"],
];

async function programs(): Promise<Row[]> {
  const unpacked = unpackDebian({ name: "python-programs", suite: "bookworm", packages: PACKAGES });
  if (typeof unpacked === "string") throw new Lacking(unpacked);
  const rows: Row[] = [];
  for (const program of PROGRAMS) {
    const { prepare } = program;
    if (prepare) execFileSync("chroot", [unpacked.root, "sh", "-ec", prepare]);
    const counts = await sampleProgram(unpacked.root, program.command);
    rows.push(...programRows(program.what, counts, "Python", pythonFrames));
  }
  return rows;
}

/** The section for the table of `npm run accuracy`. */
export const pythonProgramSections: readonly Section[] = [
  {
    name: "python-programs",
    about: "programs of Debian that are written in Python",
    run: programs,
  },
];
