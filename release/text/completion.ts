/** What completes the command line of polytop in bash, zsh and fish. */
import { COMMANDS, OPTION_WORDS, type OptionWords, spellings, type ValueKind } from "./words.ts";

const commandNames = COMMANDS.map(([name]) => name).join(" ");

/** Text within single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const BASH_VALUES: Readonly<Record<ValueKind["kind"], string>> = {
  none: "",
  file: 'COMPREPLY=($(compgen -f -- "$word"))',
  // After a comma the next pid.
  pids: 'COMPREPLY=($(cd /proc && compgen -P "$listed" -W "$(echo [0-9]*)" -- "$last"))',
  words: "",
  text: "COMPREPLY=()",
};

function bashCase(option: OptionWords): string {
  const { follows } = option;
  const action =
    follows.kind === "words"
      ? `COMPREPLY=($(compgen -W "${follows.words.join(" ")}" -- "$word"))`
      : BASH_VALUES[follows.kind];
  return `    ${spellings(option).join(" | ")})\n      ${action}\n      return\n      ;;`;
}

/** For bash, with or without the package bash-completion. */
export function bashCompletion(): string {
  const cases = OPTION_WORDS.filter(({ follows }) => follows.kind !== "none").map(bashCase);
  const options = OPTION_WORDS.map(({ long }) => long).join(" ");
  return `# SPDX-License-Identifier: Apache-2.0
# Completes the command line of polytop in bash.
_polytop() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} listed=
  local last=\${word##*,}
  case $word in *,*) listed=\${word%,*}, ;; esac
  compopt -o filenames 2>/dev/null
  case $before in
    replay)
      COMPREPLY=($(compgen -f -- "$word"))
      return
      ;;
${cases.join("\n")}
  esac
  compopt +o filenames 2>/dev/null
  case $COMP_CWORD:$word in
    1:[!-]* | 1:) COMPREPLY=($(compgen -W ${quoted(commandNames)} -- "$word")) ;;
    *) COMPREPLY=($(compgen -W ${quoted(options)} -- "$word")) ;;
  esac
}
complete -F _polytop polytop
`;
}

/** Text of a zsh specification: brackets and colons have a meaning there. */
const zshText = (text: string): string => text.replaceAll(/[[\]:\\]/g, (it) => `\\${it}`);

function zshAction(follows: ValueKind): string {
  if (follows.kind === "words") return `(${follows.words.join(" ")})`;
  if (follows.kind === "file") return "_files";
  return follows.kind === "pids" ? "_sequence _pids" : " ";
}

function zshSpecification(option: OptionWords): string {
  const { long, value, help, follows } = option;
  const names = spellings(option);
  const rest = follows.kind === "none" ? "" : `:${zshText(value)}:${zshAction(follows)}`;
  const about = `[${zshText(help)}]${rest}`;
  if (names.length === 1) return `    ${quoted(`${long}${about}`)} \\`;
  return `    ${quoted(`(${names.join(" ")})`)}{${names.join(",")}}${quoted(about)} \\`;
}

/** For zsh. */
export function zshCompletion(): string {
  const commands = COMMANDS.map(([name, about]) => quoted(`${name}:${about}`)).join(" ");
  return `#compdef polytop
# SPDX-License-Identifier: Apache-2.0
# Completes the command line of polytop in zsh.
_polytop() {
  local -a commands=(${commands})
  _arguments -s \\
${OPTION_WORDS.map(zshSpecification).join("\n")}
    '1: :{_describe command commands}' \\
    '*:recording:_files'
}
_polytop "$@"
`;
}

function fishLine({ long, short, help, follows }: OptionWords): string {
  const names = `-l ${long.slice(2)}${short && ` -s ${short.slice(1)}`}`;
  const values: Readonly<Record<ValueKind["kind"], string>> = {
    none: "",
    file: " -r -F",
    text: " -x",
    pids: " -x -a '(__fish_complete_list , __fish_complete_pids)'",
    words: follows.kind === "words" ? ` -x -a ${quoted(follows.words.join(" "))}` : "",
  };
  return `complete -c polytop ${names}${values[follows.kind]} -d ${quoted(help)}`;
}

/** For fish. */
export function fishCompletion(): string {
  const commands = COMMANDS.map(
    ([name, about]) =>
      `complete -c polytop -f -n __fish_use_subcommand -a ${name} -d ${quoted(about)}`,
  );
  return [
    "# SPDX-License-Identifier: Apache-2.0",
    "# Completes the command line of polytop in fish.",
    ...commands,
    "complete -c polytop -n '__fish_seen_subcommand_from replay' -F",
    ...OPTION_WORDS.map(fishLine),
    "",
  ].join("\n");
}
