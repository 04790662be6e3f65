/** @typedef {import("./vitest-report.mjs").Red & { project: string, seeds: readonly string[], log: string }} SeenRed */

/** The red tests of many runs, grouped by test. */
export class RedBook {
  redRuns = 0;
  /** @type {Map<string, SeenRed[]>} */
  byTest = new Map();

  /**
   * Adds the red tests of one run.
   *
   * @param {readonly SeenRed[]} reds
   */
  add(reds) {
    this.redRuns += 1;
    for (const red of reds) {
      const key = `${red.project}\n${red.file}\n${red.test ?? ""}`;
      this.byTest.set(key, [...(this.byTest.get(key) ?? []), red]);
    }
  }
}

/**
 * The seeds that a test file printed, as they stand in vitest's log below the file's name.
 *
 * @param {string} log
 * @param {string} file
 * @returns {string[]} at most ten
 */
export function seedsIn(log, file) {
  const seeds = new Set();
  let own = false;
  for (const line of withoutColours(log).split("\n")) {
    if (/^std(out|err) \| /.test(line)) own = file !== "" && line.includes(file);
    // Vitest's list of failures at the end repeats the error of each one, with the seed if the test names it.
    else if (/FAIL/.test(line)) own = file !== "" && line.includes(file);
    if (!own) continue;
    for (const [, seed] of line.matchAll(/\b(?:HOLDFAST_SEED=|seed:? )(\d+)/gi)) seeds.add(seed);
  }
  return [...seeds].slice(0, 10);
}

/**
 * A paragraph for each red test: how often, the error, seeds, logs, and the line that runs it again.
 *
 * @param {RedBook} book
 * @returns {string}
 */
export function describeReds(book) {
  if (book.redRuns === 0) return "every run was green";
  const most = [...book.byTest.values()].sort((a, b) => b.length - a.length);
  return [`${book.redRuns} runs were red`, ...most.map(paragraph)].join("\n\n");
}

/** @param {readonly SeenRed[]} seen */
function paragraph(seen) {
  const [{ file, test, project, error }] = seen;
  const seeds = [...new Set(seen.flatMap((red) => red.seeds))];
  const title =
    file === "" ? `outside of any test of ${project}` : `${file}${test === null ? "" : ` > ${test}`}`;
  const lines = [
    `${seen.length} x ${title}`,
    ...withoutColours(error)
      .split("\n")
      .slice(0, 6)
      .map((line) => `    ${line.slice(0, 300)}`),
    ...(seeds.length === 0 ? [] : [`  seeds: ${seeds.join(", ")}`]),
    `  logs: ${[...new Set(seen.map(({ log }) => log))].join(" ")}`,
  ];
  return file === "" ? lines.join("\n") : [...lines, `  again: ${again(seen[0], seeds)}`].join("\n");
}

function again({ file, test, project }, seeds) {
  const seed = seeds.length === 0 ? "" : `HOLDFAST_SEED=${seeds[0]} `;
  const only = test === null ? "" : ` -t ${quoted(test.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))}`;
  return `${seed}npx vitest run --project ${project} ${file}${only}`;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function withoutColours(text) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's colours begin with one.
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}
