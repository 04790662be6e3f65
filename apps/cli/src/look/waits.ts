import type { ObservedLockDetail, ObservedParticipant } from "@holdfast/collectors";
import type { WaitCycle } from "@holdfast/collectors/internal";
import { shownName, span, whoIs } from "@holdfast/collectors/internal";
import type { Command } from "../command.js";
import { circlesAmong, standing } from "./cycles.js";
import { jsonOfParticipant, printJson } from "./json.js";
import { looking } from "./looking.js";
import { matcherOf, readAll, wholeList } from "./reading.js";
import { type Column, table, widthOf } from "./table.js";
import { ageOf, ageText, holdersOf, waitersOf } from "./words.js";

/** At most this many contended locks are read, the ones with the longest waits first. */
const mostLocks = 200;

/** One waiter of a lock; `null`: waiters that are only counted. */
interface Line {
  readonly lock: ObservedLockDetail;
  readonly waiter: ObservedParticipant | null;
}

export const waits: Command = {
  name: "waits",
  summary: "shows who waits for whom, and deadlocks",
  usage: `Usage: holdfast waits [PATTERN] [--json]

Lists the waiters of each lock with the holder that blocks them, the locks that have been waited for longest first.
Deadlocks follow: owners that wait for each other, with how certain that is.

  --json   one document with locks and cycles`,
  options: {},
  run: (given, io) =>
    looking(given, io, async ({ collector, address, beganMs }, pattern) => {
      const notes = await wholeList(collector, address, io.signal);
      const fits = matcherOf(pattern);
      const contended = [...collector.locks()]
        .filter((lock) => lock.waiterCount > 0)
        .sort(
          (a, b) =>
            (a.oldestWait.atMs ?? Number.POSITIVE_INFINITY) -
              (b.oldestWait.atMs ?? Number.POSITIVE_INFINITY) || b.waiterCount - a.waiterCount,
        );
      const read = (await readAll(collector, contended.slice(0, mostLocks))).filter(
        (lock) => lock.waiterCount > 0,
      );
      const cycles = await cyclesAmong(read, (keys) =>
        readAll(
          collector,
          read.filter((lock) => keys.has(lock.key)),
        ),
      );
      const left = contended.length - mostLocks;
      const said =
        left > 0
          ? [...notes, `${left} contended locks are left out: they have been waited for less long`]
          : notes;
      for (const note of said) io.err(`holdfast: ${note}\n`);
      const shown = read.filter((lock) => fits(lock.key));
      if (given.values.json === true) {
        printJson(io, {
          backend: collector.backend,
          address,
          complete: said.length === 0,
          locks: shown.map((lock) => ({
            name: lock.key,
            holders: lock.holders.map(jsonOfParticipant),
            waiterCount: lock.waiterCount,
            waiterUnit: lock.waiterUnit,
            waiters: lock.waiters.map(jsonOfParticipant),
          })),
          cycles: cycles.map(({ certainty, ring }) => ({
            certainty,
            waits: ring.map(({ lock, from, to }) => ({
              lock: lock.key,
              waiter: from.entry,
              holder: to.entry,
            })),
          })),
        });
        return 0;
      }
      const lines = shown.flatMap((lock): Line[] =>
        lock.waiters.length === 0
          ? [{ lock, waiter: null }]
          : lock.waiters.map((waiter) => ({ lock, waiter })),
      );
      io.out(
        `${lines.length === 0 ? "No waiter is seen." : table(columnsOf(beganMs), lines, widthOf(io))}\n`,
      );
      for (const cycle of cycles) io.out(`\n${cycleText(cycle)}\n`);
      return 0;
    }),
};

async function cyclesAmong(
  locks: readonly ObservedLockDetail[],
  again: (keys: ReadonlySet<string>) => Promise<readonly ObservedLockDetail[]>,
): Promise<readonly WaitCycle[]> {
  const cycles = circlesAmong(locks);
  if (cycles.length === 0) return cycles;
  return standing(
    cycles,
    await again(new Set(cycles.flatMap(({ ring }) => ring.map(({ lock }) => lock.key)))),
  );
}

function columnsOf(beganMs: number): readonly Column<Line>[] {
  return [
    { title: "LOCK", text: ({ lock }) => shownName(lock.key), least: 14, middle: true },
    {
      title: "WAITER",
      text: ({ lock, waiter }) => (waiter === null ? waitersOf(lock) : whoIs(waiter)),
      least: 10,
    },
    {
      title: "WAITING",
      text: ({ lock, waiter }) => ageText(ageOf(waiter?.since ?? lock.oldestWait, lock.readMs, beganMs)),
      right: true,
    },
    { title: "BLOCKED BY", text: ({ lock }) => holdersOf(lock, whoIs), least: 10 },
    {
      title: "GIVES UP",
      text: ({ lock, waiter }) =>
        waiter?.deadlineMs == null ? "unknown" : `in ${span(waiter.deadlineMs - lock.readMs)}`,
      leaveOut: 1,
    },
  ];
}

/** One sentence for each step, and how certain the circle is. */
function cycleText({ certainty, ring }: WaitCycle): string {
  const steps = ring.map(
    ({ lock, from, to }) => `  ${whoIs(from)} waits for ${shownName(lock.key)}, held by ${whoIs(to)}`,
  );
  const why =
    certainty === "certain"
      ? "each of them is one thread, which does nothing while it waits"
      : "threads and tasks of one process look the same, and the one that holds need not be the one that waits";
  return [`A deadlock, ${certainty}: ${why}.`, ...steps].join("\n");
}
