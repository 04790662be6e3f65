import { shownName, span, visible } from "@holdfast/collectors/internal";
import { type LastRun, lastRuns } from "@holdfast/schedules";
import { exitOfSignal, type Given, type Io } from "../command.js";
import { openLocks } from "../open-locks.js";
import { printJson } from "./json.js";
import { matcherOf } from "./reading.js";
import { type Column, table, widthOf } from "./table.js";

interface Line {
  readonly name: string;
  readonly last: LastRun | null;
}

/** Does `ls --schedules`: prints the last run of each schedule of `@holdfast/schedules`, by name. */
export async function listSchedules(
  { values, settings, positionals: [pattern] }: Given,
  io: Io,
): Promise<number> {
  const locks = await openLocks(settings);
  try {
    await locks.ready({ signal: io.signal });
    const fits = matcherOf(pattern);
    const lines = [...(await lastRuns(locks))]
      .map(([name, last]) => ({ name, last }))
      .filter(({ name }) => fits(name));
    if (values.json === true) printJson(io, { backend: settings.backend, schedules: lines });
    else if (lines.length === 0)
      io.out(
        `There is no schedule${pattern === undefined ? "" : ` whose name fits ${shownName(pattern)}`}.\n`,
      );
    else io.out(`${table(columns, lines, widthOf(io))}\n`);
    return 0;
  } catch (error) {
    if (io.signal.aborted) return exitOfSignal(io.signal);
    throw error;
  } finally {
    await locks.close();
  }
}

const columns: readonly Column<Line>[] = [
  { title: "SCHEDULE", text: ({ name }) => shownName(name), least: 16, middle: true },
  { title: "LAST RUN", text: ({ last }) => last?.state ?? "none yet" },
  { title: "DUE", text: ({ last }) => last?.due.toISOString() ?? "-" },
  { title: "TOOK", text: ({ last }) => tookOf(last), leaveOut: 2 },
  { title: "BY", text: ({ last }) => (last === null ? "-" : visible(last.by)), least: 10, leaveOut: 3 },
  { title: "ERROR", text: ({ last }) => visible(last?.error ?? "-"), least: 14, leaveOut: 1 },
];

function tookOf(last: LastRun | null): string {
  if (last?.ended === undefined) return "-";
  return span(last.ended.getTime() - last.began.getTime());
}
