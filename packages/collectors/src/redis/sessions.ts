import { parseOwner } from "@holdfast/redis-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import type { ObservedParticipant, ObservedSession } from "../observe/observed-lock.js";
import type { Book } from "./book.js";
import type { Channels } from "./channels.js";
import type { Identities } from "./identities.js";
import { ownerIn } from "./owner-words.js";

/** The most locks whose queues are read for their waiters. */
const queuesRead = 200;
const learnt = 2_000;
const recordsInTurn = 5_000;

/** The clients that hold or wait, as far as owners in Redis name them: providers of ours and instances of Redisson. */
export async function sessionsOf(
  book: Book,
  channels: Channels,
  identities: Identities,
  waitersOf: (keys: readonly string[]) => Promise<ReadonlyMap<string, readonly ObservedParticipant[]>>,
): Promise<readonly ObservedSession[]> {
  const clients = new Map<string, { holds: string[]; waits: string[]; seenMs: number }>();
  const of = (owner: string): { holds: string[]; waits: string[]; seenMs: number } | null => {
    const uuid = parseOwner(owner)?.uuid;
    if (uuid === undefined) return null;
    let found = clients.get(uuid);
    if (found === undefined) {
      found = { holds: [], waits: [], seenMs: 0 };
      clients.set(uuid, found);
    }
    return found;
  };
  const queues: string[] = [];
  let looked = 0;
  for (const { key, followed, queued } of book.records.values()) {
    // Reading the owners of 100,000 locks takes a while, so other work gets its turn in between.
    if (++looked % recordsInTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const { field, lease } of followed) {
      const client = of(ownerIn(field));
      if (client === null) continue;
      if (client.holds.at(-1) !== key) client.holds.push(key);
      client.seenMs = Math.max(client.seenMs, lease.raisedMs ?? 0);
    }
    if (queued > 0 && queues.length < queuesRead) queues.push(key);
  }
  for (const [key, waiters] of await waitersOf(queues)) {
    for (const { entry } of waiters) {
      const client = of(entry);
      if (client !== null && client.waits.at(-1) !== key) client.waits.push(key);
    }
  }
  await identities.learn(clients.keys(), learnt);
  return [...clients].map(([uuid, { holds, waits, seenMs }]): ObservedSession => {
    const { identity, startMs } = identities.of(uuid);
    const ours = parseOwner(`${uuid}:0`)?.ours === true;
    const heard = channels.isListening(uuid);
    return {
      id: uuid,
      backend: "redis",
      server: null,
      address: null,
      identity,
      timeoutMs: null,
      established: startMs === null ? unknownMoment : { atMs: startMs, provenance: "exact" },
      lastSeen: seenMs === 0 ? unknownMoment : { atMs: seenMs, provenance: "at-least" },
      holds,
      waits,
      state: !ours || !channels.known ? "unknown" : heard ? "connected" : "suspended",
    };
  });
}
