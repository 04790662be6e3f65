import type { LockCollector, ObservedLockDetail } from "@holdfast/collectors";
import { shownName, typedName } from "@holdfast/collectors/internal";
import { nearest } from "@holdfast/core/internal";
import { exitOfSignal, exits, type Given, type Io, UsageError } from "../command.js";
import type { Settings } from "../settings.js";
import { addressOf, lockKeys, openCollector } from "./place.js";
import { maxWaiters, wholeList } from "./reading.js";
import { many } from "./words.js";

const mostSimilar = 3;
/** At most this many names are compared letter by letter. */
const mostCompared = 20_000;

/** What a command of this file looks at. */
export interface View {
  readonly collector: LockCollector;
  /** The backend as messages name it. */
  readonly address: string;
  /** Epoch ms at which looking began. */
  readonly beganMs: number;
}

/** Looks at all locks. `work` receives the pattern for their names, if one was given. */
export function looking(
  { settings, positionals: [pattern, ...more] }: Given,
  io: Io,
  work: (view: View, pattern: string | undefined) => Promise<number>,
): Promise<number> {
  if (more.length > 0)
    throw new UsageError("this command takes one PATTERN; quote it, so that the shell does not expand it");
  return opened(settings, io, null, (view) => work(view, pattern));
}

/**
 * Looks at the one lock that was named, and at nothing else. `meant` has the keys that holdfast would make of the name;
 * the lock that was found may have another key. If there is no such lock, the user is shown similar names.
 */
export async function lookingAt(
  { settings, positionals: [name, ...more] }: Given,
  io: Io,
  work: (view: View, lock: ObservedLockDetail, meant: readonly string[]) => Promise<number>,
): Promise<number> {
  if (name === undefined || name === "" || more.length > 0)
    throw new UsageError("this command takes the NAME of one lock");
  const { keys, meant } = await keysOf(settings, name);
  return opened(settings, io, keys, async (view) => {
    // The list has only these locks. Once it is complete, the collector is connected.
    await wholeList(view.collector, view.address, io.signal);
    for (const key of keys) {
      const lock = await view.collector.detail(key, { maxWaiters });
      if (lock !== null) return work(view, lock, meant);
    }
    return opened(settings, io, null, (all) => tellSimilar(name, all, io));
  });
}

/**
 * Takes the name as it was typed first, and then as it may have been copied from the screen. `meant` has the key that
 * holdfast would make of each.
 */
async function keysOf(settings: Settings, name: string): Promise<{ keys: string[]; meant: string[] }> {
  const names = [...new Set([name, typedName(name)])];
  const readings = await Promise.all(names.map((each) => lockKeys(settings, each)));
  return { keys: readings.flat(), meant: readings.flatMap(([first]) => first ?? []) };
}

async function opened(
  settings: Settings,
  io: Io,
  keys: readonly string[] | null,
  work: (view: View) => Promise<number>,
): Promise<number> {
  const collector = await openCollector(settings, keys);
  try {
    return await work({ collector, address: addressOf(settings), beganMs: Date.now() });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    return exitOfSignal(io.signal);
  } finally {
    await collector.close();
  }
}

async function tellSimilar(name: string, { collector, address }: View, io: Io): Promise<number> {
  const notes = await wholeList(collector, address, io.signal);
  const names = [...collector.figures()].map(({ key }) => key);
  const part = name.toLowerCase();
  const within = names.filter((each) => each.toLowerCase().includes(part)).slice(0, mostSimilar);
  const like = nearest(name, names.slice(0, mostCompared));
  const similar = within.length > 0 || like === null ? within : [like];
  const known =
    similar.length === 0
      ? `of ${many(names.length, "lock")} none has a similar name`
      : `did you mean ${similar.map(shownName).join(", ")}?`;
  io.err(`holdfast: there is no lock ${shownName(name)}; ${[known, ...notes].join("; ")}\n`);
  return exits.conflict;
}
