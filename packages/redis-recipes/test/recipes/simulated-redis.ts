import type { Millis } from "@holdfast/core";
import type { SimulatedRuntime } from "@holdfast/core/testing";
import { mutexKeys } from "../../src/layout/keys.js";
import type { StayEntry } from "../../src/scripts/mutex/stay.js";
import { Keyspace } from "../model/keyspace.js";
import { MutexModel, proveModel, renewModel } from "../model/mutex-model.js";
import { stayModel } from "../model/queue-model.js";
import { doubleBarrierModel } from "../model/small-models.js";
import { executeFair } from "./simulated-fair.js";
import { executeReadWrite } from "./simulated-read-write.js";

type Arg = string | number;

/**
 * A Redis with one replica and its own clock, in memory. It runs our scripts as their models do, which the differential test
 * compares with the real scripts.
 */
export class SimulatedRedis {
  readonly runtime: SimulatedRuntime;
  space = new Keyspace();
  runId = "a".repeat(40);
  /** How far its clock is ahead of the runtime's. */
  offsetMs = 1_700_000_000_000;
  /** The share by which its clock is faster than the runtime's. */
  drift = 0;
  /** How often each script was executed since the start, by its name. */
  readonly executed = new Map<string, number>();
  /** Is called with each message as it is published. */
  onPublish: (channel: string, message: string) => void = () => {};
  /** Is called before each script is executed. */
  onExecute: (name: string, keys: readonly string[]) => void = () => {};
  /** Is called with the owners whose lock an operator has freed. */
  onForced: (owners: readonly string[]) => void = () => {};
  replicating = true;
  /** `false`: scripts may not ask for the run id, so messages name none. */
  runIdInMessages = true;
  #replica = new Keyspace();
  #failovers = 0;

  constructor(runtime: SimulatedRuntime) {
    this.runtime = runtime;
  }

  get nowUs(): number {
    return Math.floor((this.runtime.nowMs() * (1 + this.drift) + this.offsetMs) * 1000);
  }

  /** The work of one script. Returns the answer in the shape that its `parse` returns. */
  execute(name: string, keys: readonly string[], args: readonly Arg[]): unknown {
    this.executed.set(name, (this.executed.get(name) ?? 0) + 1);
    this.onExecute(name, keys);
    this.space.at(this.nowUs);
    const reply = this.#reply(name, keys, args);
    for (const { channel, message } of this.space.published.splice(0)) this.onPublish(channel, message);
    return reply;
  }

  /** Copies everything written so far to the replica. */
  replicate(): void {
    if (this.replicating) this.#replica = copyOf(this.space);
  }

  /** The replica becomes the master, with the data that it has. */
  failOver(clockMs: Millis): void {
    const { listeners } = this.space;
    this.space = copyOf(this.#replica);
    // All listeners have subscribed again.
    for (const [channel, count] of listeners) this.space.listeners.set(channel, count);
    this.runId = String(++this.#failovers).padStart(40, "b");
    this.offsetMs += clockMs;
    this.replicating = true;
  }

  /** The data at this moment, without expired keys. */
  get now(): Keyspace {
    this.space.at(this.nowUs);
    return this.space;
  }

  /** The holders' fields in the hash. */
  fieldsOf(name: string): readonly string[] {
    const { now } = this;
    return now.type(name) === "hash" ? [...now.hash(name).keys()].filter((field) => field !== "mode") : [];
  }

  holderOf(name: string): string | undefined {
    return this.fieldsOf(name)[0];
  }

  #reply(name: string, keys: readonly string[], args: readonly Arg[]): unknown {
    const text = (place: number): string => String(args[place]);
    const number = (place: number): number => Number(args[place]);
    const notAfter = (place: number): number | null => (number(place) === 0 ? null : number(place) / 1000);
    const model = (lock: string) =>
      new MutexModel(this.space, mutexKeys(lock), this.runIdInMessages ? this.runId : "");
    const lock = keys[0] as string;
    const pass = {
      owner: text(0),
      claimMs: number(1),
      aliveMs: number(2),
      maxDirectRun: number(3),
      tokenTtlMs: number(4),
      publish: text(5) as "publish",
      channel: text(6),
      changes: text(7),
    };
    switch (name) {
      case "mutex-acquire":
        return model(lock).acquire({
          owner: text(0),
          notAfterMs: notAfter(1),
          floor: BigInt(text(2)),
          leaseMs: number(3),
          mayWait: number(4) === 1,
          aliveMs: number(5),
          tokenTtlMs: number(6),
          changes: text(7),
          ...keeperArgs(args),
        });
      case "prove":
        return proveModel(
          this.space,
          { listens: text(0) as "publish", tokenTtlMs: number(1) },
          groups(args.slice(2), 4).map(([field, leaseMs, channel, reserves], place) => ({
            lock: keys[4 * place] as string,
            token: keys[4 * place + 1] as string,
            waiters: keys[4 * place + 2] as string,
            alive: keys[4 * place + 3] as string,
            field: String(field),
            leaseMs: Number(leaseMs),
            channel: String(channel),
            reserves: reserves === 1,
          })),
        );
      case "mutex-acquire-all":
        return MutexModel.acquireAll(
          groups(keys, 5).map(([each]) => model(each as string)),
          { notAfterMs: notAfter(0), tokenTtlMs: number(1), aliveMs: number(2) },
          groups(args.slice(3), 3).map(([owner, leaseMs, floor]) => ({
            owner: String(owner),
            leaseMs: Number(leaseMs),
            floor: BigInt(String(floor)),
          })),
        );
      case "mutex-heartbeat": {
        const common = {
          aliveMs: number(0),
          claimMs: number(1),
          notAfterMs: notAfter(2),
          tokenTtlMs: number(3),
          changes: text(4),
        };
        return groups(args.slice(5), 3).flatMap(([owner, leaseMs, floor], place) =>
          model(keys[5 * place] as string).heartbeat(common, [
            { owner: String(owner), leaseMs: Number(leaseMs), floor: BigInt(String(floor)) },
          ]),
        );
      }
      case "stay": {
        const locks = groups(keys, 3).map(([own, waiters, alive]) => {
          return { lock: String(own), waiters: String(waiters), alive: String(alive) };
        });
        const entries: StayEntry[] = [];
        for (let at = 1; at < args.length; at += 2 + number(at + 1)) {
          const owners = args.slice(at + 2, at + 2 + number(at + 1)).map(String);
          entries.push({ look: text(at) as StayEntry["look"], owners });
        }
        return stayModel(this.space, locks, { aliveMs: number(0), entries });
      }
      case "renew":
        return renewModel(
          this.space,
          groups(args, 2).map(([field, leaseMs], place) => ({
            lock: keys[2 * place] as string,
            token: keys[2 * place + 1] as string,
            field: String(field),
            leaseMs: Number(leaseMs),
          })),
        );
      case "mutex-release":
        return model(lock).release(pass);
      case "mutex-cancel":
        return model(lock).cancel({ ...pass, leaseMs: number(9) });
      case "mutex-force": {
        const answer = model(lock).force({
          expected: text(0),
          publish: text(1) as "publish",
          channel: text(2),
          changes: text(3),
        });
        if (answer.status === "forced") this.onForced([answer.holder]);
        return answer;
      }
      case "mutex-ask":
        return model(lock).ask();
      case "double-barrier":
        return doubleBarrierModel(
          this.space,
          { full: lock, members: String(keys[1]) },
          {
            action: text(0) as "enter",
            member: text(1),
            parties: number(2),
            aliveMs: number(3),
            notAfterMs: notAfter(4),
            changes: text(5),
          },
        );
      default:
        if (name.startsWith("fair-")) return executeFair(this, name, keys, args);
        return executeReadWrite(this, name, keys, args);
    }
  }
}

/** What an acquire says about kept locks. */
export function keeperArgs(args: readonly Arg[]): { asksKeeper: boolean; tellsBefore: boolean } {
  return { asksKeeper: args[4] === 2, tellsBefore: args[8] === 1 };
}

export function groups<T>(items: readonly T[], size: number): T[][] {
  const found: T[][] = [];
  for (let place = 0; place < items.length; place += size) found.push(items.slice(place, place + size));
  return found;
}

function copyOf(space: Keyspace): Keyspace {
  const copy = new Keyspace();
  copy.nowUs = space.nowUs;
  for (const [name, key] of space.keys) copy.keys.set(name, structuredClone(key));
  return copy;
}
