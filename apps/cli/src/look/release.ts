import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { ActionResult, LockCollector, ObservedLockDetail } from "@holdfast/collectors";
import { shownName, typedName, visible, whoIs } from "@holdfast/collectors/internal";
import { BackendError } from "@holdfast/core";
import { messageOf } from "@holdfast/core/internal";
import { type Command, exits, type Io, UsageError } from "../command.js";
import { jsonOfLock, printJson } from "./json.js";
import { lookingAt, type View } from "./looking.js";
import { isOwnKey } from "./place.js";
import { ageOf, ageText, bornMs, holdersOf, many, stateOf, waitersOf } from "./words.js";

/** The next waiter is sometimes granted by its own client, which takes a moment. */
const passesOnMs = 2_000;

export const release: Command = {
  name: "release",
  summary: "frees a lock by force, although a client holds it",
  usage: `Usage: holdfast release --force NAME [--yes] [--json]

Ends the hold of a lock at the backend, as a last resort: the holder is shown first, with what it will notice. A holder
of holdfast learns that it lost the lock; one of Curator, kazoo or Redisson goes on as if it held it. At a terminal the
name has to be typed once more. Nothing is done where the lock has changed meanwhile, and to what no known library
has made. Permits with leases are given back up to 200 at a time: run it again for more.

  --force  is always needed: a lock that you hold yourself is given back by the program that holds it
  --yes    does not ask; needed without a terminal
  --json   one document, with the lock before and after`,
  options: { force: { type: "boolean" }, yes: { type: "boolean" } },
  run: async (given, io) => {
    if (given.values.force !== true)
      throw new UsageError(
        "release takes --force, as it ends the hold of another program; a lock that a program holds is given back by that program, and holdfast run gives back its own",
      );
    return lookingAt(given, io, async (view, lock, meant) => {
      const [name = ""] = given.positionals;
      if (!meant.includes(lock.key) && !(await isOwnKey(given.settings, lock.key, name)))
        throw new UsageError(
          `${shownName(name)} is not there; ${shownName(lock.key)} is another lock: to act on it give its whole name, and no key prefix that is not its own`,
        );
      const json = given.values.json === true;
      const say = sayTo(io, json);
      const tried = await forced(view, lock, true);
      if (tried.outcome !== "would-do") {
        say(`${shownName(lock.key)} is ${stateOf(lock)}: ${refusalOf(tried)}`);
        if (json) printJson(io, reportOf({ ...tried, ended: 0 }, lock, lock));
        // The lock is free, as the user wants it.
        return tried.outcome === "nothing-there" ? 0 : exits.conflict;
      }
      if (tried.unknownLibrary === true) {
        say(`${shownName(lock.key)} was made by no known library, so it may be no lock: nothing was done.`);
        if (json) printJson(io, reportOf({ ...tried, outcome: "denied", ended: 0 }, lock, lock));
        return exits.conflict;
      }
      say(heldText(lock, view.beganMs));
      for (const effect of tried.effects) say(`  ${visible(effect)}`);
      if (given.values.yes !== true) {
        if (!io.isTty || !process.stdin.isTTY)
          throw new UsageError("without a terminal release --force takes --yes; nothing was done");
        if (!(await confirmed(lock.key, io))) {
          say("Nothing was done: that is not its name.");
          return exits.conflict;
        }
      }
      return releaseNow(view, lock, json, io);
    });
  },
};

/** The sentences for people, which stand beside the document where one is printed. */
function sayTo(io: Pick<Io, "out" | "err">, json: boolean): (text: string) => void {
  return (text) => (json ? io.err : io.out)(`${text}\n`);
}

/** Releases the lock as it was read, and prints what has come of it. Resolves with the exit code. */
export async function releaseNow(
  view: Acting,
  lock: ObservedLockDetail,
  json: boolean,
  io: Pick<Io, "out" | "err" | "signal">,
): Promise<number> {
  const say = sayTo(io, json);
  const result = await forced(view, lock, false);
  let after: ObservedLockDetail | null = lock;
  /** Why the lock could not be read after the release, which is done all the same. */
  let unread: string | null = null;
  if (result.ended > 0) {
    try {
      after = await settled(view.collector, lock.key, io.signal);
    } catch (error) {
      after = null;
      unread = `The lock could not be read after that: ${messageOf(error)}.`;
    }
  }
  // The action may have said the same of its own reading.
  const effects = unread === null ? result.effects : [...new Set([...result.effects, unread])];
  if (json) printJson(io, reportOf({ ...result, effects }, lock, after));
  if (result.outcome !== "done") {
    say(`${endedText(result, lock)}: ${refusalOf(result)}`);
    return exits.conflict;
  }
  const now = after === null ? "Nothing of the lock is left." : nowText(after);
  say(`Released. ${unread === null ? now : visible(unread)}`);
  return exits.done;
}

function endedText({ outcome, ended }: Forced, lock: ObservedLockDetail): string {
  if (ended === 0) return "Nothing was done";
  const rest = outcome === "unread" ? "then this failed" : "the rest was not";
  return `${ended} of ${many(lock.holders.length, "permit")} were given back, and ${rest}`;
}

/** What a release needs of a view. */
type Acting = Pick<View, "address"> & { readonly collector: Pick<LockCollector, "act" | "detail"> };

interface Forced extends ActionResult {
  /** How many holds were ended; in a dry run, how many would be. */
  readonly ended: number;
}

/**
 * Ends each hold of the lock as it was read. Each permit with a lease is a hold of its own; these are given back one
 * after the other. The first action that does not succeed ends the loop, and its outcome is the outcome of the whole. Rejects
 * if the backend is not reached and nothing was done before.
 */
export async function forced(
  { collector, address }: Acting,
  lock: ObservedLockDetail,
  dryRun: boolean,
): Promise<Forced> {
  const wanted = dryRun ? "would-do" : "done";
  let ended = 0;
  const act = async (entry: string | null, expectedVersion: string): Promise<ActionResult> => {
    const result = await collector.act({
      action: "force-release",
      key: lock.key,
      entry,
      expectedVersion,
      dryRun,
    });
    if (result.outcome === "unread" && ended === 0) {
      const why = visible(result.effects.join(" "));
      const message = `${shownName(lock.key)} cannot be read from ${address}, and nothing was done: ${why}`;
      throw new BackendError(message, { backend: lock.backend, lockName: lock.key });
    }
    return result;
  };
  if (lock.kind !== "permit-semaphore" || lock.holders.length === 0) {
    const result = await act(null, lock.version);
    return { ...result, ended: result.outcome === wanted ? 1 : 0 };
  }
  const effects: string[] = [];
  let version = lock.version;
  let last: ActionResult | undefined;
  for (const { entry } of lock.holders) {
    try {
      last = await act(entry, version);
    } catch (error) {
      if (ended === 0) throw error;
      return { outcome: "unread", effects: [messageOf(error)], before: null, after: null, ended };
    }
    if (last.outcome !== wanted) return { ...last, ended };
    ended += 1;
    effects.push(...last.effects);
    version = last.after?.version ?? version;
  }
  return { ...(last as ActionResult), effects: [...new Set(effects)], ended };
}

function refusalOf({ outcome, effects }: ActionResult): string {
  if (effects.length > 0) return visible(effects.join(" "));
  return outcome === "conflict"
    ? "who holds it has changed since it was read."
    : `${outcome.replaceAll("-", " ")}.`;
}

/** The holders of the lock, one line each. */
function heldText(lock: ObservedLockDetail, beganMs: number): string {
  const lines = lock.holders.map(
    (one) =>
      `  held by ${whoIs(one)} for ${ageText(ageOf(one.since, lock.readMs, beganMs, bornMs(lock, one)))}`,
  );
  return [`${shownName(lock.key)}, ${waitersOf(lock)} waiting`, ...lines].join("\n");
}

function nowText(lock: ObservedLockDetail): string {
  return lock.state === "idle"
    ? "The lock is free."
    : `Now it is held by ${holdersOf(lock)}, ${waitersOf(lock)} waiting.`;
}

/** The lock once the next waiter has it, or as it is after `passesOnMs` or at a signal. */
async function settled(
  collector: Pick<LockCollector, "detail">,
  key: string,
  signal: AbortSignal,
): Promise<ObservedLockDetail | null> {
  const untilMs = performance.now() + passesOnMs;
  for (;;) {
    const lock = await collector.detail(key, { maxWaiters: 10 });
    const over = signal.aborted || performance.now() >= untilMs;
    if (lock === null || lock.holderCount > 0 || lock.waiterCount === 0 || over) return lock;
    // It rejects at a signal alone, and what was done is still to be told.
    await pause(50, undefined, { signal }).catch(() => {});
  }
}

/** Reads the name from the terminal. */
async function confirmed(key: string, { signal }: Io): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // While the prompt reads, Ctrl-C arrives as a character. Send SIGINT for it, as outside the prompt.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  // Ctrl-D, or the end of the input: nothing was typed.
  const ended = once(lines, "close").then(() => "");
  try {
    const asked = lines.question("Type the name of the lock to release it by force: ", { signal });
    const typed = (await Promise.race([asked, ended])).trim();
    return typed === key || typedName(typed) === key;
  } finally {
    lines.close();
  }
}

function reportOf(
  { outcome, effects, ended }: Forced,
  before: ObservedLockDetail,
  after: ObservedLockDetail | null,
): Record<string, unknown> {
  return {
    outcome,
    ended,
    effects: [...effects],
    before: jsonOfLock(before, []),
    after: after === null ? null : jsonOfLock(after, []),
  };
}
