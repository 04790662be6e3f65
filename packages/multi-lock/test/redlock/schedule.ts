import { type LockHandle, LockLostError, type Millis } from "@holdfast/core";
import { type SimulatedRuntime, seededRandom, simulatedRuntime } from "@holdfast/core/testing";
import type { Weather } from "../../../redis-recipes/test/recipes/simulated-line.js";
import { passingRefusals } from "../../../redis-recipes/test/recipes/weather.js";
import type { RedLocksOptions } from "../../src/redlock/options.js";
import { SimulatedNode } from "./simulated-node.js";
import { SimulatedProcess } from "./simulated-process.js";

/** The results of one schedule. */
export interface Course {
  readonly seed: number;
  readonly grants: number;
  readonly losses: number;
  readonly cancelled: number;
  readonly restarts: number;
  /** The moments at which two processes believed to hold, and the tokens that did not rise. */
  readonly wrong: readonly string[];
}

export interface ScheduleOptions {
  readonly restartGuard?: boolean;
  /** A node that comes back still has its data, and tokens are written back. */
  readonly durable?: boolean;
}

const maxLeaseMs: Millis = 1_000;
const lastsMs: Millis = 4_000;

/** Some processes want one lock all the time, on three or five nodes, while faults happen to both. */
export async function runSchedule(seed: number, options: ScheduleOptions = {}): Promise<Course> {
  const chance = new Chance(seed);
  const world = simulatedRuntime(seed);
  const nodes = Array.from({ length: chance.of([3, 5]) }, (_, index) => {
    const node = new SimulatedNode(world, index, 2 * maxLeaseMs);
    node.offsetMs += chance.upTo(4) - 2;
    node.drift = clockRate(chance);
    return node;
  });
  const weather = weatherOf(chance);
  const stage = new Stage(world, chance, nodes, weather, options);
  stage.begin();
  const endMs = world.nowMs() + lastsMs;
  while (world.nowMs() < endMs && stage.wrong.length === 0) {
    await world.step();
    stage.look();
  }
  return { seed, ...stage.told };
}

class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed ^ 0x5eed);
  }

  upTo(most: number): number {
    return this.#next() * most;
  }

  is(share: number): boolean {
    return this.#next() < share;
  }

  of<T>(values: readonly T[]): T {
    return values[Math.floor(this.#next() * values.length)] as T;
  }
}

/** A clock rate within what a lease allows for between a node and a process. */
function clockRate(chance: Chance): number {
  return chance.upTo(0.009) - 0.0045;
}

function weatherOf(chance: Chance): Weather {
  const usualMs = 0.2 + chance.upTo(4);
  const slow = chance.of([0.001, 0.01, 0.05]);
  const refused = chance.of([0, 0.02, 0.2]);
  const delayMs = (): Millis => {
    if (chance.is(slow / 10)) return chance.upTo(2_500);
    return chance.is(slow) ? chance.upTo(400) : chance.upTo(2 * usualMs);
  };
  return {
    delayMs,
    strayMs: () => (chance.is(0.3) ? chance.upTo(900) : null),
    reorders: () => chance.is(0.002),
    refuses: () => (chance.is(refused) ? chance.of(passingRefusals) : null),
    message: () => (chance.is(0.1) ? [] : [chance.upTo(2 * usualMs)]),
  };
}

class Stage {
  readonly wrong: string[] = [];
  readonly #world: SimulatedRuntime;
  readonly #chance: Chance;
  readonly #nodes: readonly SimulatedNode[];
  readonly #processes: readonly SimulatedProcess[];
  readonly #options: ScheduleOptions;
  readonly #leaseMs: Millis;
  #grants = 0;
  #losses = 0;
  #cancelled = 0;
  #restarts = 0;
  #lastToken = 0n;

  constructor(
    world: SimulatedRuntime,
    chance: Chance,
    nodes: readonly SimulatedNode[],
    weather: Weather,
    options: ScheduleOptions,
  ) {
    this.#world = world;
    this.#chance = chance;
    this.#nodes = nodes;
    this.#options = options;
    this.#leaseMs = chance.of([300, 600, maxLeaseMs]);
    const given: Omit<RedLocksOptions, "nodes"> = {
      leaseMs: this.#leaseMs,
      maxLeaseMs,
      nodeTimeoutMs: chance.of([15, 40, 100]),
      restartGuard: options.restartGuard ?? true,
      maxHoldMs: chance.of([Infinity, Infinity, 2_000]),
      fencing: options.durable === true ? "write-back" : "none",
    };
    this.#processes = Array.from(
      { length: chance.of([2, 3]) },
      () => new SimulatedProcess(nodes, given, { weather, rate: clockRate(chance) }),
    );
    nodes.forEach((node, index) => {
      node.onPublish = (channel, message) => {
        for (const { lines } of this.#processes) lines[index]?.publish(channel, message);
      };
    });
  }

  get told(): Omit<Course, "seed"> {
    return {
      grants: this.#grants,
      losses: this.#losses,
      cancelled: this.#cancelled,
      restarts: this.#restarts,
      wrong: this.wrong,
    };
  }

  begin(): void {
    for (const process of this.#processes) void this.#work(process);
    this.#disasters(this.#chance.of([100, 300, 1_000]));
  }

  /** Between two events the validity of holds only shrinks. So a look after each event is as good as a look at each moment. */
  look(): void {
    const all = this.#processes.flatMap((process, who) =>
      process.beliefs.map(({ owner, untilMs }) => ({ who, owner, leftMs: untilMs - process.nowMs })),
    );
    if (all.length > 1) this.wrong.push(`at ${this.#world.nowMs()}: ${JSON.stringify(all)}`);
  }

  async #work(process: SimulatedProcess): Promise<void> {
    const chance = this.#chance;
    const lock = process.locks.mutex("orders");
    for (;;) {
      const controller = new AbortController();
      const hurried = chance.is(0.2);
      if (hurried) process.runtime.setTimer(chance.upTo(60), () => controller.abort());
      const options = { waitMs: chance.upTo(3_000), signal: controller.signal, renew: chance.is(0.7) };
      // Why an acquire failed does not matter here (busy, no majority, too late, cancelled): only who believes to hold does.
      const handle = await lock.acquire(options).catch(() => null);
      if (handle === null) {
        if (hurried) this.#cancelled++;
        await process.pass(chance.upTo(30));
        continue;
      }
      await this.#hold(process, handle);
    }
  }

  async #hold(process: SimulatedProcess, handle: LockHandle): Promise<void> {
    this.#grants++;
    if (this.#options.durable === true) {
      const { token } = handle;
      if (token === null || token <= this.#lastToken) this.wrong.push(`${token} after ${this.#lastToken}`);
      this.#lastToken = token ?? this.#lastToken;
    }
    handle.lost.addEventListener("abort", () => {
      if (handle.lost.reason instanceof LockLostError) this.#losses++;
    });
    const chance = this.#chance;
    await process.pass(chance.is(0.2) ? chance.upTo(3 * this.#leaseMs) : chance.upTo(40));
    await handle.release().catch(() => "unconfirmed");
  }

  #disasters(everyMs: Millis): void {
    const chance = this.#chance;
    this.#world.setTimer(chance.upTo(2 * everyMs), () => {
      const process = chance.of(this.#processes);
      const kinds: readonly [number, () => void][] = [
        [4, () => this.#restart(chance.of(this.#nodes))],
        [2, () => chance.of(this.#nodes).save()],
        [3, () => this.#cut(process, [chance.of([...this.#nodes.keys()])])],
        [
          2,
          () =>
            this.#cut(
              process,
              [...this.#nodes.keys()].filter(() => chance.is(0.6)),
            ),
        ],
        [3, () => process.pause(chance.upTo(1.5 * this.#leaseMs))],
        [this.#processes.filter(({ crashed }) => !crashed).length > 1 ? 0.1 : 0, () => process.crash()],
      ];
      let drawn = chance.upTo(kinds.reduce((sum, [weight]) => sum + weight, 0));
      for (const [weight, happen] of kinds) {
        drawn -= weight;
        if (drawn > 0) continue;
        happen();
        break;
      }
      this.#disasters(everyMs);
    });
  }

  #restart(node: SimulatedNode): void {
    const index = this.#nodes.indexOf(node);
    this.#restarts++;
    node.restart(this.#options.durable === true ? "all" : this.#chance.of(["nothing", "snapshot", "all"]));
    for (const process of this.#processes) this.#cut(process, [index]);
  }

  #cut(process: SimulatedProcess, indexes: readonly number[]): void {
    for (const index of indexes) {
      const line = process.lines[index];
      line?.cut();
      this.#world.setTimer(this.#chance.upTo(this.#chance.of([5, 50, 500])), () => line?.mend());
    }
  }
}
