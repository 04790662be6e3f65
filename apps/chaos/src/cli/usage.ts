/** Wrong usage: what was asked for cannot be done. Exit code 254. */
export class UsageError extends Error {}

export const exits = {
  asExpected: 0,
  violation: 1,
  unknown: 2,
  missing: 3,
  usage: 254,
  crash: 255,
} as const;

export const exitHelp: string = `Exit: 0 all as expected; 1 a violation, or an expected one that was not shown; 2 too little happened to tell; 3 a required
capability is missing, or all that was named (a client or service of yours too) was skipped; 129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM; 254 wrong arguments; 255 the
runner itself failed.`;

export const help: string = `Usage: holdfast-chaos <command> [options]

Breaks lock clusters on purpose, and judges what happened.

  list      the scenarios
  doctor    what this machine offers for them
  run       runs scenarios and writes reports
  worker-test  checks a worker of yours against the protocol
  check     judges a history again, without any server
  report    writes the reports of a run again
  mutants   shows that broken recipes are convicted
  attack    breaks clients of its own at a cluster that you own

Each takes --help, and holdfast-chaos itself --help (-h) and --version.

${exitHelp}
`;
