import { InvalidArgumentError } from "@holdfast/core";
import { backendCall, show } from "@holdfast/core/internal";
import { decodeLong, encodeLong } from "../layout/numbers.js";
import type { CallInfo, RetryingRequests } from "../recipes/requests/retrying-requests.js";
import type { AtomicLong } from "./api.js";
import { forcedWrite } from "./conditional-write.js";
import { update } from "./counter.js";

/** Curator's `DistributedAtomicLong`, by optimistic tries alone: it never falls back to a mutex. */
export class AtomicLongView implements AtomicLong {
  readonly name: string;
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;

  constructor(calls: RetryingRequests, name: string) {
    this.name = name;
    this.#calls = calls;
    this.#call = { lockName: name, path: calls.pathOf(name), patient: false };
  }

  async get(): Promise<bigint> {
    const found = await this.#run(() => this.#calls.read(this.#call));
    return decodeLong(this.#call.path, found?.data ?? null);
  }

  async add(delta: bigint): Promise<bigint> {
    checkLong("add: delta", delta);
    let sum = 0n;
    await this.#run(() =>
      update(this.#calls, this.#call, `add(${delta})`, (data) => {
        const before = decodeLong(this.#call.path, data);
        sum = before + delta;
        if (sum === BigInt.asIntN(64, sum)) return encodeLong(sum);
        throw new InvalidArgumentError(
          `add: ${before} + ${delta} is beyond 64 bits; ${this.name} is unchanged`,
        );
      }),
    );
    return sum;
  }

  async set(value: bigint): Promise<void> {
    checkLong("set: value", value);
    await this.#run(() => forcedWrite(this.#calls, this.#call, null, encodeLong(value)));
  }

  async compareAndSet(expected: bigint, value: bigint): Promise<boolean> {
    checkLong("compareAndSet: expected", expected);
    checkLong("compareAndSet: value", value);
    return await this.#run(() =>
      update(this.#calls, this.#call, "compareAndSet", (data, there) =>
        there && decodeLong(this.#call.path, data) === expected ? encodeLong(value) : null,
      ),
    );
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    return backendCall(this.#calls.engine, this.name, work);
  }
}

function checkLong(what: string, value: unknown): void {
  if (typeof value === "bigint" && value === BigInt.asIntN(64, value)) return;
  throw new InvalidArgumentError(`${what} must be a bigint of 64 bits; got ${show(value)}`);
}
