import type { Finding, LockCollector, ObservedLock, ObservedLockDetail } from "@holdfast/collectors";
import { shownName } from "@holdfast/collectors/internal";
import type { Command } from "../command.js";
import { jsonOfLock, printJson } from "./json.js";
import { looking } from "./looking.js";
import { findingsByObject, matcherOf, readAll, wholeList } from "./reading.js";
import { listSchedules } from "./schedules.js";
import { type Column, table, widthOf } from "./table.js";
import {
  type Age,
  aboutWaiters,
  ageOf,
  ageText,
  bornMs,
  findingOf,
  holdersOf,
  kindOf,
  many,
  severityOrder,
  stateOf,
  waitersOf,
} from "./words.js";

/**
 * At most this many locks, the worst ones, are read one by one for their holders. For the others the data of the list
 * is shown.
 */
const mostRead = 200;

/** One line of the list. */
interface Line {
  readonly lock: ObservedLock;
  /** The worst first. */
  readonly findings: readonly Finding[];
  readonly held: Age;
  readonly waited: Age;
}

export const ls: Command = {
  name: "ls",
  summary: "lists locks: who holds them, who waits, and what is wrong",
  usage: `Usage: holdfast ls [PATTERN] [--all | --schedules] [--json]

Lists the locks, what is wrong first, then those with the most waiters. PATTERN is a part of a name, or a glob for
the whole of it: * is anything, ? is one character.

  --all    with locks that are free, as far as the backend keeps anything of them
  --json   one document, with all that is known of each lock
  --schedules
           the last run of each schedule of @holdfast/schedules instead of locks

Ages: 2 min is known, ≥ 2 min is at least, ≤ 2 min at most. WAITERS ≥ 2: two connections, each with one waiter or more.`,
  options: { all: { type: "boolean" }, schedules: { type: "boolean" } },
  run: (given, io) =>
    given.values.schedules === true
      ? listSchedules(given, io)
      : looking(given, io, async ({ collector, address, beganMs }, pattern) => {
          const notes = await wholeList(collector, address, io.signal);
          const lines = await linesOf(collector, {
            pattern,
            all: given.values.all === true,
            beganMs,
          });
          for (const note of notes) io.err(`holdfast: ${note}\n`);
          if (given.values.json === true) {
            printJson(io, {
              backend: collector.backend,
              address,
              complete: notes.length === 0,
              locks: lines.map(({ lock, findings }) => jsonOfLock(lock, findings)),
            });
            return 0;
          }
          if (lines.length === 0) io.out(`${nothing(pattern, given.values.all === true, collector.size)}\n`);
          else io.out(`${table(columns, lines, widthOf(io))}\n`);
          const unclear = new Set(
            lines.map(({ lock }) => (lock.waiterUnit === "hidden" ? aboutWaiters(lock) : null)),
          );
          for (const why of unclear) if (why !== null) io.err(`holdfast: waiters "hidden": ${why}\n`);
          return 0;
        }),
};

function nothing(pattern: string | undefined, all: boolean, known: number): string {
  const named = pattern === undefined ? "" : ` whose name fits ${shownName(pattern)}`;
  if (all) return `There is no lock${named}.`;
  return `No lock${named} is held or waited for${known === 0 ? "" : `; ${many(known, "lock")} known, --all lists free ones too`}.`;
}

/** Locks with something wrong come first, then those with the most waiters, then by name. */
async function linesOf(
  collector: LockCollector,
  {
    pattern,
    all,
    beganMs,
  }: { readonly pattern: string | undefined; readonly all: boolean; readonly beganMs: number },
): Promise<Line[]> {
  const fits = matcherOf(pattern);
  const rows = [...collector.locks()].filter((lock) => fits(lock.key));
  const findings = findingsByObject(collector);
  const wanted = rows.filter(
    (lock) => all || lock.state !== "idle" || lock.denied !== null || findings.has(lock.key),
  );
  const weight = (lock: ObservedLock): number => {
    const [worst] = findings.get(lock.key) ?? [];
    return worst === undefined || worst.severity === "info" ? 3 : severityOrder[worst.severity];
  };
  const sorted = wanted.sort(
    (a, b) => weight(a) - weight(b) || b.waiterCount - a.waiterCount || (a.key < b.key ? -1 : 1),
  );
  const read = await readAll(collector, sorted.slice(0, mostRead));
  const rest = sorted.slice(mostRead).map((lock) => ({ ...lock, waiters: [], raw: [], explain: [] }));
  return [...read, ...rest].map((lock) => lineOf(lock, findings.get(lock.key) ?? [], beganMs));
}

function lineOf(lock: ObservedLockDetail, findings: readonly Finding[], beganMs: number): Line {
  const nowMs = lock.readMs;
  const [holder] = lock.holders;
  return {
    lock,
    findings,
    held: ageOf(lock.oldestHold, nowMs, beganMs, holder === undefined ? null : bornMs(lock, holder)),
    waited: ageOf(lock.oldestWait, nowMs, beganMs),
  };
}

const columns: readonly Column<Line>[] = [
  { title: "LOCK", text: ({ lock }) => shownName(lock.key), least: 16, middle: true },
  { title: "KIND", text: ({ lock }) => kindOf(lock), leaveOut: 4 },
  { title: "STATE", text: ({ lock }) => stateOf(lock) },
  { title: "HELD BY", text: ({ lock }) => holdersOf(lock), least: 10 },
  {
    title: "HELD FOR",
    text: ({ lock, held }) => (lock.holderCount === 0 ? "-" : ageText(held)),
    right: true,
    leaveOut: 2,
  },
  { title: "WAITERS", text: ({ lock }) => waitersOf(lock), right: true },
  {
    title: "LONGEST WAIT",
    text: ({ lock, waited }) => (lock.waiterCount === 0 ? "-" : ageText(waited)),
    right: true,
    leaveOut: 3,
  },
  { title: "FINDING", text: ({ findings }) => findingsText(findings), least: 14, leaveOut: 1 },
];

/** The worst finding, and how many more there are. */
function findingsText([worst, ...more]: readonly Finding[]): string {
  if (worst === undefined) return "-";
  return `${worst.severity === "info" ? "" : `${worst.severity}: `}${findingOf(worst)}${more.length === 0 ? "" : ` +${more.length}`}`;
}
