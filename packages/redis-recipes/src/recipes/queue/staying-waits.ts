import { type StayAnswer, type StayLook, stay } from "../../scripts/mutex/stay.js";
import { chunksOf, isOfSome } from "../requests/batches.js";
import type { Requests } from "../requests/requests.js";
import { Rounds } from "../requests/rounds.js";
import { stayMs } from "../requests/settings.js";
import type { QueuedLock } from "./queued-lock.js";

/** A waiter that is behind another one. */
interface Staying {
  readonly wait: { readonly owner: string; readonly lock: QueuedLock; readonly queued: boolean };
}

/** The waiters of one lock in one call. */
type Group<T> = [T, ...T[]];

/** The most owners in one call, so that no call keeps the server busy for long. */
const mostInCall = 500;
/**
 * What the calls of each period look at, one after the other. A lock without a holder must be found soonest, so most calls look
 * for that. A dead first waiter is found by each client behind it within four calls.
 */
const looks: readonly StayLook[] = ["lock", "first", "lock", "lock", "life", "first", "lock", "lock"];

/**
 * The turns that keep the places of waiters behind the first. Each turn costs one call for all waiters of a server or a slot,
 * however many locks they wait for, and two to four commands for each lock. `ask`: called for an owner whose place may have changed, so
 * that it sends a heartbeat of its own.
 */
export function stayingRounds<T extends Staying>(requests: Requests, ask: (waiting: T) => void): Rounds<T> {
  const { line, runtime, settings } = requests;
  const periodMs = stayMs(settings);
  const slotOf = ({ wait }: T): number | null => line.slotOf(wait.lock.key);
  const turn = (all: readonly T[]): void => {
    const queued = all.filter(({ wait }) => wait.queued);
    // Choose by the time: each waiter has one turn in each period, whichever waiters share it, so every waiter gets every look.
    const look = looks[Math.floor(runtime.nowMs() / periodMs) % looks.length] as StayLook;
    const calls = callsOf(queued, slotOf);
    const runs = calls.map((groups) => ({
      keys: groups.flatMap(([{ wait }]) => wait.lock.stayKeys as readonly string[]),
      args: stay.args({
        aliveMs: settings.aliveMs,
        entries: groups.map((group) => ({ look, owners: group.map(({ wait }) => wait.owner) })),
      }),
    }));
    const answers = line.runAll<StayAnswer>(stay, runs);
    calls.forEach(async (groups, index) => {
      const waiting = groups.flat();
      const answer = await answers[index];
      if (answer === undefined || answer instanceof Error) {
        // A heartbeat of each waiter shows which of them the error concerns. Trouble in transport passes, and after a reconnect
        // all of them ask.
        if (isOfSome(answer)) for (const each of waiting) ask(each);
        return;
      }
      requests.noteClock(answer.reply.serverMs, answer);
      waiting.forEach((each, place) => {
        if (answer.reply.stays[place] !== true) ask(each);
      });
    });
  };
  return new Rounds({ runtime, periodMs, slotOf, turn });
}

/** Groups waits by slot, and by lock within a call. */
function callsOf<T extends Staying>(all: readonly T[], slotOf: (waiting: T) => number | null): Group<T>[][] {
  const bySlot = new Map<number | null, Map<string, T[]>>();
  for (const each of all) {
    const { key } = each.wait.lock;
    const slot = slotOf(each);
    const locks = bySlot.get(slot) ?? new Map<string, T[]>();
    bySlot.set(slot, locks);
    const waiting = locks.get(key) ?? [];
    locks.set(key, waiting);
    waiting.push(each);
  }
  return [...bySlot.values()].flatMap((locks) => {
    const groups = [...locks.values()].flatMap((waiting) => chunksOf(waiting, mostInCall, () => 1));
    return chunksOf(groups as Group<T>[], mostInCall, ({ length }) => length);
  });
}
