import type { Millis, Runtime } from "@holdfast/core";
import type { RedisLine, Subscription } from "../client/redis-line.js";

/** Between a message that was lost and the next look: a second, spread so that clients do not look in step. */
export function cappedSleepMs(runtime: Runtime, capMs: Millis = 1_000): Millis {
  return capMs * (0.75 + 0.25 * runtime.random());
}

export interface Sleeper {
  /** How much of what a message tells this one would use up. */
  readonly size: number;
  wake(): void;
}

/**
 * Whom a message wakes: everybody, or from the front of the room as many as the number in it has something for. Who needs more
 * than what is left of it sleeps on, so that it keeps nobody behind it from what is enough for them.
 */
export type WakeRule = "all" | "counted";

/** Part of a message that says nothing: everybody looks again. */
const unknown = -1;

/**
 * Those of one provider who wait for messages, a room for each channel: one subscription however many there are. A message
 * is a hint only, so whoever wakes up asks again. Whatever may have swallowed messages (a reconnect of either
 * connection, another master) wakes everybody.
 */
export class WakeRooms {
  readonly #line: RedisLine;
  readonly #rooms = new Map<string, Room>();
  readonly #stop: () => void;

  constructor(line: RedisLine) {
    this.#line = line;
    this.#stop = line.onRenewed(() => {
      for (const room of [...this.#rooms.values()]) room.wakeAll();
    });
  }

  enter(channel: string, kind: "plain" | "redisson", rule: WakeRule, sleeper: Sleeper): Place {
    let room = this.#rooms.get(channel);
    if (room === undefined) {
      room = new Room(rule);
      this.#rooms.set(channel, room);
      const opened = room;
      room.subscription = this.#line.subscribe(channel, kind, (message) => opened.heard(message));
      // Whoever waits for it hears of it; a provider that closes leaves rooms that nobody waits in any more.
      room.subscription.ready.catch(() => {});
    }
    return new Place(room, sleeper, () => this.#left(channel));
  }

  /** How many wait in a room. */
  waitingOn(channel: string): number {
    return this.#rooms.get(channel)?.sleepers.size ?? 0;
  }

  close(): void {
    this.#stop();
    for (const room of this.#rooms.values()) room.subscription?.end();
    this.#rooms.clear();
  }

  #left(channel: string): void {
    const room = this.#rooms.get(channel);
    if (room === undefined || room.sleepers.size > 0) return;
    this.#rooms.delete(channel);
    room.subscription?.end();
  }
}

class Room {
  /** In the order of their coming. */
  readonly sleepers: Set<Sleeper> = new Set();
  subscription: Subscription | null = null;
  readonly #rule: WakeRule;

  constructor(rule: WakeRule) {
    this.#rule = rule;
  }

  heard(message: string): void {
    const number = /^\d{1,15}$/.test(message) ? Number(message) : unknown;
    if (this.#rule === "all" || number === unknown) {
      this.wakeAll();
      return;
    }
    let left = number;
    for (const sleeper of [...this.sleepers]) {
      if (left <= 0) break;
      if (sleeper.size > left) continue;
      left -= sleeper.size;
      sleeper.wake();
    }
  }

  wakeAll(): void {
    for (const sleeper of [...this.sleepers]) sleeper.wake();
  }
}

/** One who waits in a room. */
export class Place {
  readonly #room: Room;
  readonly #sleeper: Sleeper;
  readonly #left: () => void;

  constructor(room: Room, sleeper: Sleeper, left: () => void) {
    this.#room = room;
    this.#sleeper = sleeper;
    this.#left = left;
    room.sleepers.add(sleeper);
  }

  /** Resolved while messages arrive. */
  get ready(): Promise<void> {
    return this.#room.subscription?.ready ?? Promise.resolve();
  }

  leave(): void {
    if (this.#room.sleepers.delete(this.#sleeper)) this.#left();
  }
}
