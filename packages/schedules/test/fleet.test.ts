import { type LockProvider, MemorySpace, memoryLocks, type Runtime } from "@holdfast/core";
import {
  memoryControls,
  type SimulatedRuntime,
  seededRandom,
  simulatedRuntime,
} from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { share } from "../../../e2e/support/share.js";
import { oncePer, type Run, type Schedule } from "../src/index.js";

const replicaCount = 20;
const dueCount = share("due times of a fleet with faults", 200, 1_000);
const everyMs = 1_000;

/** Clocks differ by up to 500 ms. */
function skewed(runtime: SimulatedRuntime, aheadMs: number): Runtime {
  return { ...runtime, wallMs: () => runtime.wallMs() + aheadMs };
}

interface Begin {
  readonly due: number;
  readonly attempt: number;
  readonly replica: number;
  completed: boolean;
}

interface Replica {
  readonly locks: LockProvider;
  readonly schedule: Schedule;
  readonly killed: AbortController;
}

/** Replicas that are restarted, cut off and stopped at random moments. */
class Fleet {
  readonly begins: Begin[] = [];
  /** How often a run began while another was going on whose replica knew of no loss. */
  overlaps = 0;
  #going = 0;
  readonly #space = new MemorySpace();
  readonly #runtime: SimulatedRuntime;
  readonly #random: () => number;
  readonly #ifCut: "leave" | "again";
  readonly #live: Replica[] = [];

  constructor(seed: number, ifCut: "leave" | "again") {
    this.#runtime = simulatedRuntime(seed);
    this.#random = seededRandom(seed + 1);
    this.#ifCut = ifCut;
    for (let replica = 0; replica < replicaCount; replica++) this.#start(replica);
  }

  async run(): Promise<{ readonly first: number; readonly last: number }> {
    await this.#runtime.advance(2 * everyMs);
    const first = Math.ceil(this.#runtime.wallMs() / everyMs) * everyMs + everyMs;
    const last = first + (dueCount - 1) * everyMs;
    while (this.#runtime.wallMs() < last) {
      await this.#runtime.advance(Math.floor(this.#random() * 700));
      this.#fault(Math.floor(this.#random() * replicaCount));
    }
    await this.#runtime.advance(60_000);
    for (const { schedule } of this.#live) void schedule.stop();
    await this.#runtime.advance(60_000);
    return { first, last };
  }

  #start(replica: number): void {
    const runtime = skewed(this.#runtime, Math.floor(this.#random() * 501) - 250);
    const locks = memoryLocks({ space: this.#space, runtime });
    const killed = new AbortController();
    const options = { every: everyMs, catchUp: "all", ifCut: this.#ifCut, runtime, onRun: () => {} } as const;
    const schedule = oncePer(locks, "job", options, (run) => this.#job(replica, run, killed.signal));
    this.#live[replica] = { locks, schedule, killed };
  }

  #fault(replica: number): void {
    const { locks, schedule, killed } = this.#live[replica] as Replica;
    const controls = memoryControls(locks);
    const drawn = this.#random();
    if (drawn < 0.3) {
      // The replica is killed: it does nothing more, and the server ends its session.
      killed.abort();
      controls.suspend();
      controls.expire();
      void schedule.stop();
      this.#start(replica);
    } else if (drawn < 0.5) {
      controls.suspend();
      this.#runtime.setTimer(Math.floor(this.#random() * 3_000), () => controls.reconnect());
    } else if (drawn < 0.6) {
      controls.suspend();
      controls.expire();
      this.#runtime.setTimer(Math.floor(this.#random() * 3_000), () => controls.reconnect());
    }
  }

  async #job(replica: number, { due, attempt, signal }: Run, dead: AbortSignal): Promise<void> {
    const begin: Begin = { due: due.getTime(), attempt, replica, completed: false };
    this.begins.push(begin);
    if (++this.#going > 1) this.overlaps++;
    const ended = new AbortController();
    const over = await new Promise<"worked" | "lost" | "dead">((resolve) => {
      const on = (other: AbortSignal, what: "lost" | "dead"): void =>
        other.addEventListener("abort", () => resolve(what), { signal: ended.signal });
      on(signal, "lost");
      on(dead, "dead");
      this.#runtime.setTimer(20 + Math.floor(this.#random() * 400), () => resolve("worked"));
      if (signal.aborted) resolve("lost");
    });
    ended.abort();
    this.#going--;
    if (over === "dead") await new Promise(() => {});
    if (over === "lost") throw signal.reason;
    begin.completed = true;
  }
}

function groupedByDue(begins: readonly Begin[]): Map<number, Begin[]> {
  const grouped = new Map<number, Begin[]>();
  for (const begin of begins) grouped.set(begin.due, [...(grouped.get(begin.due) ?? []), begin]);
  return grouped;
}

const seeds = [1, 20_261];

describe.each(seeds)("a fleet of 20 replicas whose clocks are apart by up to 500 ms, seed %i", (seed) => {
  it("begins each due time once, misses none, and does not overlap, through restarts and cuts", async () => {
    const fleet = new Fleet(seed, "leave");
    const { first, last } = await fleet.run();
    const begun = new Map<number, number>();
    for (const { due } of fleet.begins) begun.set(due, (begun.get(due) ?? 0) + 1);
    expect([...begun].filter(([, times]) => times > 1)).toEqual([]);
    const missed: number[] = [];
    for (let due = first; due <= last; due += everyMs) if (!begun.has(due)) missed.push(due);
    expect(missed).toEqual([]);
    expect(fleet.overlaps).toBe(0);
    expect(fleet.begins.some(({ completed }) => !completed)).toBe(true);
  });

  it("makes runs that were cut again until each has come to its end, one attempt after the other", async () => {
    const fleet = new Fleet(seed, "again");
    const { first, last } = await fleet.run();
    const byDue = groupedByDue(fleet.begins);
    const unfinished: number[] = [];
    for (let due = first; due <= last; due += everyMs) {
      const attempts = byDue.get(due) ?? [];
      if (!attempts.some(({ completed }) => completed)) unfinished.push(due);
      expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, place) => place + 1));
    }
    expect(unfinished).toEqual([]);
    expect(fleet.overlaps).toBe(0);
    expect(fleet.begins.some(({ attempt }) => attempt > 1)).toBe(true);
  });
});
