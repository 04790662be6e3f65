import { seededRandom } from "@holdfast/core/testing";
import { share } from "../../../../e2e/support/share.js";
import type { Script } from "../../src/scripts/script.js";
import { differences, keyDifferences, messageDifferences, roundingMs, settleScores } from "./compare.js";
import { Keyspace } from "./keyspace.js";
import type { RealServer, Snapshot } from "./real-server.js";

const fullRun = process.env.HOLDFAST_FULL === "1";

/** Random choices from a printed seed. `HOLDFAST_SEED` repeats a run. */
export class Dice {
  readonly seed: number;
  readonly #next: () => number;

  constructor(what: string) {
    this.seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 2 ** 31);
    console.log(`seed ${this.seed} ${what}`);
    this.#next = seededRandom(this.seed);
  }

  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }
}

export function steps(what: string): number {
  return share(`steps of ${what}, script against model`, 2_000, 20_000);
}

/**
 * The time limit. A step waits twice for its turn at the processor, at the server and here. Beside nine other files it takes 6 ms,
 * and with more work on the machine several times that.
 */
export const limitMs: number = fullRun ? 1_800_000 : 180_000;

/** The short answer of an acquire leaves out the lease, which is then the whole one. This fills it in, as the models do. */
export function wholeLease<R extends { readonly status: string; readonly pttlMs?: number }>(
  script: Script<R>,
  leaseMs: number,
): Script<R> {
  const parse = (raw: unknown): R => {
    const answer = script.parse(raw);
    return answer.pttlMs === Infinity ? { ...answer, pttlMs: leaseMs } : answer;
  };
  return { ...script, parse };
}

/**
 * Runs the same step on a real server and in a model, and compares the answer, every key with its TTL, and every message.
 * The model's clock is set to the server time of the answer, so neither side waits. `edit` puts things into the past.
 */
export class Differential {
  readonly space = new Keyspace();
  readonly #server: RealServer;
  readonly #log: string[] = [];
  readonly tally = new Map<string, number>();

  constructor(server: RealServer) {
    this.#server = server;
  }

  /** `outcome` takes the server time and the kind of outcome from the answer. */
  async run<R>(
    script: Script<R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    model: () => R,
    outcome: (answer: R) => { serverMs: number; what: string },
  ): Promise<R> {
    this.#log.push(`${script.name} ${args.join(" ")}`);
    const { raw, after } = await this.#server.step(script.lua, keys, args);
    const real = script.parse(raw);
    const { serverMs, what } = outcome(real);
    this.tally.set(`${script.name} ${what}`, (this.tally.get(`${script.name} ${what}`) ?? 0) + 1);
    // An answer without a time comes from a step that does not look at the clock.
    this.space.at(Math.round((serverMs === 0 ? after.nowMs : serverMs) * 1000));
    this.space.published.length = 0;
    const expected = model();
    this.#check(after, (slackMs) => differences(expected, real, slackMs, "answer"));
    return real;
  }

  /** A Redisson client begins or ends to wait on a channel. */
  async listen(channel: string, listening: boolean): Promise<void> {
    await this.#server.listen(channel, listening);
    this.space.listeners.set(channel, listening ? 1 : 0);
  }

  /**
   * A change that no script of ours makes: Lua for the server, which answers its time in microseconds, and the same change for
   * the model.
   */
  async edit(
    what: string,
    lua: string,
    keys: readonly string[],
    args: readonly (string | number)[],
    model: (space: Keyspace) => void,
  ): Promise<void> {
    this.#log.push(`${what} ${args.join(" ")}`);
    const timed = `local time = redis.call('TIME')
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local nowMs = math.floor(nowUs / 1000)
${lua}
return nowUs`;
    const { raw, after } = await this.#server.step(timed, keys, args);
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
    this.space.at(raw as number);
    this.space.published.length = 0;
    model(this.space);
    this.#check(after);
  }

  /**
   * A TTL counts from the moment in the script at which it was set, which the model cannot know. So the model takes over the
   * server's TTL if it fits.
   */
  #check(after: Snapshot, more: (slackMs: number) => string[] = () => []): void {
    const slackMs = roundingMs + after.nowMs - this.space.nowMs;
    settleScores(this.space.keys, after.keys, slackMs);
    const found = [
      ...more(slackMs),
      ...keyDifferences(this.space.keys, after.keys, slackMs),
      ...messageDifferences(this.space.published, after.published, slackMs),
    ];
    if (found.length > 0) {
      const last = this.#log.slice(-15).join("\n");
      throw new Error(`step ${this.#log.length}: ${found.join("\n")}\nlast steps:\n${last}`);
    }
    for (const [name, key] of this.space.keys) key.expiresMs = after.keys.get(name)?.expiresMs ?? null;
  }
}
