import { faults } from "./faults.js";
import type { Results } from "./results.js";
import { subjects } from "./subjects.js";
import { againOf, type Cell, cellsOf, measuredOf, seenOf, wordOf } from "./summary.js";

/**
 * The text: which subject kept what under which fault, and what shows it. `missing`: subjects that this machine lacks,
 * and how to get them.
 */
export function table(results: Results, missing: ReadonlyMap<string, string>): string {
  const cells = cellsOf(results);
  return [
    "# The trials: which lock keeps what under which fault",
    "",
    "<!-- Written by apps/trials. -->",
    "",
    intro,
    "",
    lasted(cells),
    "",
    "## Verdicts",
    "",
    ...verdicts(cells),
    "",
    legend,
    "",
    ...(cells.some(({ earlier }) => earlier) ? [earlierMark, ""] : []),
    ...missingLines(missing),
    "## The faults",
    "",
    row(["fault", "what is done", "what no lock can keep under it"]),
    row(["---", "---", "---"]),
    ...faults.map(({ id, words, excuses }) => {
      const excused = Object.entries(excuses).map(([charge, why]) => `${charge}: ${why}`);
      return row([code(id), words, excused.join("; ") || "nothing"]);
    }),
    "",
    "## The subjects",
    "",
    row(["subject", "version", "servers", "configuration", "documented at"]),
    row(["---", "---", "---", "---", "---"]),
    ...subjects.map((subject) => {
      const { version, servers } = measuredOf(subject, cells);
      return row([subject.name, version || "not run", servers, subject.configuration, link(subject.source)]);
    }),
    "",
    "## Beside the verdicts",
    "",
    "With 64 waiters behind one holder, in five processes on one machine; the figures are good for comparison in this table alone.",
    "",
    row(["subject", "hand-off p99", "wait p99", "how a loss is reported", "tokens"]),
    row(["---", "---:", "---:", "---", "---"]),
    ...subjects.map((subject) => {
      const { handOffP99Ms, waitP99Ms, told } = measuredOf(subject, cells);
      return row([subject.name, ms(handOffP99Ms), ms(waitP99Ms), told, subject.tokens]);
    }),
    "",
    reported,
    "",
    "## What shows each conviction",
    "",
    ...cells.filter(({ verdict }) => verdict === "convicted" || verdict === "chance").flatMap(conviction),
    "## What could not be judged",
    "",
    ...unjudged(cells),
  ].join("\n");
}

const intro = `Each lock library runs in its safest documented configuration, in processes of its own, through the engine of the chaos
runner (\`apps/chaos\`): the same turns, servers, faults and checkers for all, ours included. Each cell that has a verdict was run with
one seed. Only what convicts is run again, and counts when it is seen in 3 of 5 seeds.

\`\`\`sh
npm ci && npm run build
node apps/trials/dist/main.js --text docs/trials.md   # goes on where it was interrupted; the page is trials-results/index.html
npx biome format --write docs/trials.md
\`\`\``;

function lasted(cells: readonly Cell[]): string {
  const runs = cells.flatMap((cell) => cell.runs);
  const minutes = Math.ceil(runs.reduce((sum, { tookMs }) => sum + tookMs, 0) / 60_000);
  return `This text is of ${runs.length} runs, which took ${minutes} minutes.`;
}

const legend = `| word | meaning |
| --- | --- |
| kept | nothing was seen that it should have prevented |
| damage | a write of a holder whose time was over counted at the protected resource |
| two holders | two believed at the same time that they had it |
| tokens | fencing tokens did not rise |
| told late | a holder heard of its loss after the next grant |
| stuck | a free lock stood still beside a waiter |
| unknown | too little happened to tell |
| – | the fault does not fit |

\\* its documents say that it does not promise to survive this; the source stands with the conviction.`;

const earlierMark =
  "† measured before the present code of the runner or of this lock; the trials run it again.";

const reported = `How a loss is reported is counted over all runs in which a holder lost its lock but those of \`pause\`: also where no order is promised,
because an operator ends the session (\`session\`), a server comes back with nothing (\`empty\`) or its clock is stepped (\`server-clock\`). The
verdicts say what counts against a lock.`;

function verdicts(cells: readonly Cell[]): string[] {
  return [
    row(["", ...faults.map(({ id }) => code(id))]),
    row(["---", ...faults.map(() => "---")]),
    ...subjects.map((subject) => {
      const own = cells.filter((cell) => cell.subject === subject);
      return row([subject.name, ...own.map((cell) => `${wordOf(cell)}${marksOf(cell)}`)]);
    }),
  ];
}

const marksOf = ({ verdict, outOfScope, earlier }: Cell): string =>
  `${verdict === "convicted" && outOfScope !== null ? " \\*" : ""}${earlier ? " †" : ""}`;

function conviction(cell: Cell): string[] {
  const { subject, fault, shown, says, verdict, outOfScope } = cell;
  if (shown === null) return [];
  return [
    `### ${subject.name}: ${fault.id}`,
    "",
    `${verdict === "chance" ? "Does not count: " : ""}${seenOf(cell)}. Seed ${shown.seed}: ${says}.`,
    ...(outOfScope === null
      ? []
      : ["", `Documented as out of scope: ${outOfScope.says} (${outOfScope.source}).`]),
    "",
    "```sh",
    againOf(cell, shown.seed),
    "```",
    "",
  ];
}

function unjudged(cells: readonly Cell[]): string[] {
  const lines = cells
    .filter(({ verdict }) => verdict === "unknown" || verdict === "does not fit")
    .map(({ subject, fault, verdict, says }) => row([subject.name, code(fault.id), verdict, says]));
  const open = cells.filter(({ verdict }) => verdict === "not run").length;
  const rest =
    open === 0 ? [] : [`${open} cells have not been run, or not often enough for a conviction to count.`, ""];
  return [
    ...rest,
    row(["subject", "fault", "verdict", "why"]),
    row(["---", "---", "---", "---"]),
    ...lines,
    "",
  ];
}

function missingLines(missing: ReadonlyMap<string, string>): string[] {
  if (missing.size === 0) return [];
  const lines = [...missing].map(([id, why]) => `- ${subjects.find((each) => each.id === id)?.name}: ${why}`);
  return ["Not on the machine that wrote this:", "", ...lines, ""];
}

const row = (columns: readonly string[]): string =>
  `| ${columns.map((each) => each.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
const code = (text: string): string => `\`${text}\``;
const ms = (value: number | undefined): string => (value === undefined ? "" : `${Math.round(value)} ms`);
const link = (source: string): string => {
  const [place = "", ...about] = source.split(" (");
  const rest = about.length === 0 ? "" : ` (${about.join(" (")}`;
  return place.startsWith("http") ? `[${new URL(place).host}](${place})${rest}` : code(place);
};
