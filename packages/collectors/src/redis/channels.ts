import type { Millis } from "@holdfast/core";
import { type Command, ReplyError } from "@holdfast/redis-recipes/internal";
import { channelNameOf } from "./key-names.js";
import type { Link } from "./link.js";

/** The numbers of connections that listen on the channels of one lock. Each connection stands for one or more waiters. */
export interface Listeners {
  readonly mutex: number;
  readonly readWrite: number;
  readonly semaphore: number;
  readonly latch: number;
  /** Fair lock: owners on whose own channel a client listens. */
  readonly fair: ReadonlySet<string>;
  /** When the first of these connections was seen. */
  readonly sinceMs: Millis;
}

interface Counting {
  mutex: number;
  readWrite: number;
  semaphore: number;
  latch: number;
  fair: Set<string>;
  sinceMs: Millis;
}

/** The most channels in one NUMSUB command. */
const channelsAtOnce = 500;
const none: ReadonlySet<string> = new Set();

/** The waiters that subscriptions show: a waiter of Redisson listens on a channel of its lock. */
export class Channels {
  #byLock: ReadonlyMap<string, Listeners> = new Map();
  #ours: ReadonlySet<string> = none;
  #known = false;

  /** Whether the last look was answered. */
  get known(): boolean {
    return this.#known;
  }

  forget(): void {
    this.#known = false;
  }

  of(lock: string): Listeners | undefined {
    return this.#byLock.get(lock);
  }

  /** Whether a client of ours listens on its grant channel. */
  isListening(uuid: string): boolean {
    return this.#ours.has(uuid);
  }

  get locks(): Iterable<string> {
    return this.#byLock.keys();
  }

  /**
   * Asks all servers, because only the server to which a subscriber is connected knows it. `keyFor`: the key of a lock;
   * `null` for a lock that the patterns leave out. Resolves with the locks whose listeners have changed. Rejects with the
   * first refusal or error, and then everything stays as it was.
   */
  async look(
    links: readonly Link[],
    nowMs: Millis,
    keyFor: (lock: string) => string | null,
  ): Promise<Set<string>> {
    const counts = new Map<string, Counting>();
    const ours = new Set<string>();
    await Promise.all(links.map((link) => this.#count(link, nowMs, counts, ours, keyFor)));
    const changed = new Set<string>();
    for (const [lock, now] of counts) {
      const before = this.#byLock.get(lock);
      if (before !== undefined) now.sinceMs = before.sinceMs;
      if (before === undefined || !alike(before, now)) changed.add(lock);
    }
    for (const lock of this.#byLock.keys()) if (!counts.has(lock)) changed.add(lock);
    this.#byLock = counts;
    this.#ours = ours;
    this.#known = true;
    return changed;
  }

  async #count(
    link: Link,
    nowMs: Millis,
    counts: Map<string, Counting>,
    ours: Set<string>,
    keyFor: (lock: string) => string | null,
  ): Promise<void> {
    const [plain, sharded, grants] = await link.send([
      ["pubsub", "channels", "redisson_*"],
      ["pubsub", "shardchannels", "redisson_*"],
      ["pubsub", "channels", "holdfast_grant:*"],
    ]);
    if (plain instanceof ReplyError) throw plain;
    if (Array.isArray(grants))
      for (const each of grants) ours.add(String(each).slice("holdfast_grant:".length));
    const asks: Command[] = [];
    for (const [word, names] of [
      ["numsub", plain],
      ["shardnumsub", sharded],
    ] as const) {
      // Servers before 7.0 have no sharded channels, and some users may not ask for them.
      if (!Array.isArray(names)) continue;
      const known = (names as string[]).filter((name) => channelNameOf(name) !== null);
      for (let at = 0; at < known.length; at += channelsAtOnce)
        asks.push(["pubsub", word, ...known.slice(at, at + channelsAtOnce)]);
    }
    if (asks.length === 0) return;
    for (const reply of await link.send(asks)) {
      if (!Array.isArray(reply)) continue;
      for (let at = 0; at + 1 < reply.length; at += 2)
        this.#add(counts, String(reply[at]), Number(reply[at + 1]), nowMs, keyFor);
    }
  }

  #add(
    counts: Map<string, Counting>,
    channel: string,
    number: number,
    nowMs: Millis,
    keyFor: (lock: string) => string | null,
  ): void {
    const name = channelNameOf(channel);
    if (name === null || number === 0) return;
    const lock = keyFor(name.lock);
    if (lock === null) return;
    let found = counts.get(lock);
    if (found === undefined) {
      found = { mutex: 0, readWrite: 0, semaphore: 0, latch: 0, fair: new Set(), sinceMs: nowMs };
      counts.set(lock, found);
    }
    if (name.use === "fair") found.fair.add(name.owner ?? "");
    else if (name.use === "read-write") found.readWrite += number;
    else found[name.use] += number;
  }
}

function alike(one: Listeners, other: Listeners): boolean {
  return (
    one.mutex === other.mutex &&
    one.readWrite === other.readWrite &&
    one.semaphore === other.semaphore &&
    one.latch === other.latch &&
    one.fair.size === other.fair.size &&
    [...one.fair].every((owner) => other.fair.has(owner))
  );
}
