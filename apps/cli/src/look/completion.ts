import { type Command, exits, UsageError } from "../command.js";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

type Options = Command["options"];

/** What a script completes: each command with its options, and those that all commands have. */
export interface Completed {
  readonly commands: readonly Pick<Command, "name" | "summary" | "options">[];
  readonly common: Options;
}

/** `completed` is called when a script is printed, because the list of all commands contains this one. */
export function completionCommand(completed: () => Promise<Completed>): Command {
  return {
    name: "completion",
    summary: "prints the completion script of a shell",
    usage: `Usage: holdfast completion bash|zsh|fish

Prints a script that completes commands and options:

  bash   source <(holdfast completion bash)
  zsh    source <(holdfast completion zsh)
  fish   holdfast completion fish | source`,
    options: {},
    run: async ({ positionals: [shell, ...more] }, io) => {
      if (shell === undefined || more.length > 0 || !isShell(shell))
        throw new UsageError(`completion takes one of ${shells.join(", ")}`);
      io.out(`${completionScript(shell, await completed())}\n`);
      return exits.done;
    },
  };
}

function isShell(name: string): name is Shell {
  return (shells as readonly string[]).includes(name);
}

/** The script for one shell. Names of commands and options contain no blanks or quotes; summaries are quoted. */
function completionScript(shell: Shell, completed: Completed): string {
  return { bash, zsh, fish }[shell](completed);
}

/** The long flag of each option, such as `--json`, and its short flag where there is one. */
function flagsOf(options: Options): string[] {
  return Object.entries(options).flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ]);
}

/** The flags of all options that take the next word as their value. In that place the script offers file names only. */
function valued({ commands, common }: Completed): string[] {
  const all = [common, ...commands.map(({ options }) => options)].flatMap((options) =>
    Object.entries(options).flatMap(([name, option]) =>
      option.type === "string" ? flagsOf({ [name]: option }) : [],
    ),
  );
  return [...new Set(all)];
}

function argumentsOf(name: string): readonly string[] {
  return name === "completion" ? shells : [];
}

function bash(completed: Completed): string {
  const { commands, common } = completed;
  const takesValue = valued(completed);
  return `# bash completion of holdfast
_holdfast() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= word i
  COMPREPLY=()
${takesValue.length === 0 ? "" : `  case $prev in ${takesValue.join("|")}) COMPREPLY=($(compgen -f -- "$cur")); return ;; esac\n`}  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      --) return ;;
      ${commands.map(({ name }) => name).join("|")}) command=$word; break ;;
    esac
  done
  case $command in
    "") COMPREPLY=($(compgen -W "${[...commands.map(({ name }) => name), ...flagsOf(common)].join(" ")}" -- "$cur")) ;;
${commands
  .map(
    ({ name, options }) =>
      `    ${name}) COMPREPLY=($(compgen -W "${[...argumentsOf(name), ...flagsOf({ ...options, ...common })].join(" ")}" -- "$cur")) ;;`,
  )
  .join("\n")}
  esac
}
complete -o default -F _holdfast holdfast`;
}

function zsh({ commands, common }: Completed): string {
  const specs = (options: Options): string =>
    Object.entries(options)
      .flatMap(([name, { type, short }]) => {
        const value = type === "string" ? ":value:_files" : "";
        return [`'--${name}${value}'`, ...(short === undefined ? [] : [`'-${short}${value}'`])];
      })
      .join(" ");
  return `#compdef holdfast
# zsh completion of holdfast
_holdfast() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${single(`${name}:${summary.replaceAll(":", "\\:")}`)}`).join("\n")}
  )
  local command=\${words[(r)(${commands.map(({ name }) => name).join("|")})]}
  if (( CURRENT == 2 )) || [[ -z $command ]]; then
    _describe command commands
    _arguments ${specs(common)}
    return
  fi
  case $command in
${commands
  .map(({ name, options }) => {
    const words = argumentsOf(name);
    const rest = words.length === 0 ? "'*: :_files'" : `'*: :(${words.join(" ")})'`;
    return `    ${name}) _arguments ${specs({ ...options, ...common })} ${rest} ;;`;
  })
  .join("\n")}
  esac
}
(( $+functions[compdef] )) && compdef _holdfast holdfast`;
}

function fish({ commands, common }: Completed): string {
  const lineOf = (condition: string, [name, { type, short }]: [string, Options[string]]): string =>
    `complete -c holdfast ${condition}-l ${name}${short === undefined ? "" : ` -s ${short}`}${type === "string" ? " -r" : ""}`;
  const names = commands.map(({ name }) => name).join(" ");
  return [
    "# fish completion of holdfast",
    ...commands.map(
      ({ name, summary }) =>
        `complete -c holdfast -f -n 'not __fish_seen_subcommand_from ${names}' -a ${name} -d ${fishQuoted(summary)}`,
    ),
    ...Object.entries(common).map((each) => lineOf("", each)),
    ...commands.flatMap(({ name, options }) => [
      ...Object.entries(options).map((each) => lineOf(`-n '__fish_seen_subcommand_from ${name}' `, each)),
      ...argumentsOf(name).map(
        (word) => `complete -c holdfast -f -n '__fish_seen_subcommand_from ${name}' -a ${word}`,
      ),
    ]),
  ].join("\n");
}

function single(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
