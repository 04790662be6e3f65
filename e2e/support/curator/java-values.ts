import type { LineProcess } from "../process/line-process.js";
import { CuratorRecipe } from "./java-recipe.js";

/** Curator's `VersionedValue`. Only a value that came from `get` can be given to `trySet`. */
export interface CuratorVersioned<T> {
  readonly value: T;
  /** The version of the node's data. */
  readonly version: number;
  readonly number: string;
}

/** One `SharedCount` or `SharedValue`. Curator keeps a copy up to date, so `get` may be a little late. */
class CuratorShared<T> extends CuratorRecipe {
  /** What its listener received, oldest first. */
  readonly changes: readonly T[];
  readonly #read: (word: string) => T;
  readonly #write: (value: T) => string;

  constructor(
    lines: LineProcess,
    kind: string,
    remoteName: string,
    read: (word: string) => T,
    write: (value: T) => string,
  ) {
    super(lines, kind, remoteName);
    this.#read = read;
    this.#write = write;
    const changes: T[] = [];
    this.listen(([, value = ""]) => changes.push(read(value)));
    this.changes = changes;
  }

  /** Creates the node with the seed unless it is there, and follows it. Until then `get` returns the seed. */
  async start(): Promise<void> {
    await this.ask("start");
  }

  async get(): Promise<CuratorVersioned<T>> {
    const [number = "", value = "", version = ""] = await this.ask("get");
    return { number, value: this.#read(value), version: Number(version) };
  }

  async set(value: T): Promise<void> {
    await this.ask("set", [this.#write(value)]);
  }

  /** False when the node is not at the version of `seen` any more. */
  trySet(seen: CuratorVersioned<T>, value: T): Promise<boolean> {
    return this.askWhether("trySet", [seen.number, this.#write(value)]);
  }

  async close(): Promise<void> {
    await this.ask("close");
  }
}

export class CuratorSharedCount extends CuratorShared<number> {
  constructor(lines: LineProcess, kind: string, remoteName: string) {
    super(lines, kind, remoteName, Number, String);
  }
}

export class CuratorSharedValue extends CuratorShared<Uint8Array> {
  constructor(lines: LineProcess, kind: string, remoteName: string) {
    super(lines, kind, remoteName, fromHex, toHex);
  }
}

/** The result of an operation on a number. When it did not succeed, nothing was changed. */
export interface AtomicOutcome {
  readonly succeeded: boolean;
  readonly before: bigint;
  readonly after: bigint;
}

/** One `DistributedAtomicLong`, which tries 20 times. */
export class CuratorAtomicLong extends CuratorRecipe {
  get(): Promise<AtomicOutcome> {
    return this.#outcome("get");
  }

  add(delta: bigint): Promise<AtomicOutcome> {
    return this.#outcome("add", delta);
  }

  trySet(value: bigint): Promise<AtomicOutcome> {
    return this.#outcome("trySet", value);
  }

  compareAndSet(expected: bigint, value: bigint): Promise<AtomicOutcome> {
    return this.#outcome("compareAndSet", expected, value);
  }

  async forceSet(value: bigint): Promise<void> {
    await this.ask("forceSet", [value]);
  }

  /** False when there is a number already. */
  initialize(value: bigint): Promise<boolean> {
    return this.askWhether("initialize", [value]);
  }

  /** Increments the number `times` times, one after the other. Resolves to how many of them succeeded. */
  async increment(times: number, withinMs: number): Promise<number> {
    return Number((await this.ask("increment", [times], withinMs))[0]);
  }

  async #outcome(verb: string, ...args: bigint[]): Promise<AtomicOutcome> {
    const [succeeded, before = "", after = ""] = await this.ask(verb, args);
    return { succeeded: succeeded === "true", before: BigInt(before), after: BigInt(after) };
  }
}

export function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
