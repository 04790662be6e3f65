import {
  BackendError,
  InvalidArgumentError,
  type LockProvider,
  memoryLocks,
  ProviderClosedError,
} from "@holdfast/core";
import { DriverProvider, type GrantEngine, observeLatest } from "@holdfast/core/internal";
import { describe, expect, it } from "vitest";

/** The engine of a memory provider, which only a subclass can reach. */
function engineOf(provider: LockProvider): GrantEngine {
  return Reflect.get(DriverProvider.prototype, "engine", provider) as GrantEngine;
}

/** A value that the test sets. */
class Source {
  value = 0;
  reads = 0;
  subscribers = 0;
  failure: unknown;
  /** Every read waits for this promise. */
  gate: Promise<void> = Promise.resolve();
  #changed: () => void = () => {};

  subscribe = (changed: () => void): (() => void) => {
    this.subscribers++;
    this.#changed = changed;
    return () => {
      this.subscribers--;
      this.#changed = () => {};
    };
  };

  read = async (): Promise<number> => {
    this.reads++;
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    return this.value;
  };

  same = (seen: number, now: number): boolean => seen === now;

  set(value: number): void {
    this.value = value;
    this.#changed();
  }
}

function observed(signal?: AbortSignal) {
  const provider = memoryLocks();
  const source = new Source();
  const { subscribe, read, same } = source;
  const values = observeLatest(engineOf(provider), () => ({ subscribe, read, same, signal, name: "x" }));
  return { provider, source, values: values[Symbol.asyncIterator]() };
}

describe("observing a value", () => {
  it("gives the present value at once and then the latest, read once however often it changed", async () => {
    const { source, values } = observed();
    expect(await values.next()).toEqual({ done: false, value: 0 });
    for (let value = 1; value <= 5; value++) source.set(value);
    expect(await values.next()).toEqual({ done: false, value: 5 });
    expect(source.reads).toBe(2);
  });

  it("gives also a change of which it only hears while it reads", async () => {
    const { source, values } = observed();
    await values.next();
    let open = (): void => {};
    source.gate = new Promise((resolve) => {
      open = resolve;
    });
    source.set(1);
    const next = values.next();
    await expect.poll(() => source.reads).toBe(2);
    source.set(2);
    source.gate = Promise.resolve();
    open();
    expect((await next).value).toBe(2);
  });

  it("does not give a value again that is the same", async () => {
    const { source, values } = observed();
    await values.next();
    const next = values.next();
    source.set(0);
    await expect.poll(() => source.reads).toBe(2);
    source.set(3);
    expect((await next).value).toBe(3);
  });

  it("gives calls of next() their values in order", async () => {
    const { source, values } = observed();
    const [first, second] = [values.next(), values.next()];
    expect((await first).value).toBe(0);
    await expect.poll(() => source.subscribers).toBe(1);
    source.set(1);
    expect((await second).value).toBe(1);
  });

  it("ends plainly at an abort, also before its first read, and lets go of the source", async () => {
    const controller = new AbortController();
    const { source, values } = observed(controller.signal);
    await values.next();
    const next = values.next();
    controller.abort(new Error("enough"));
    expect(await next).toEqual({ done: true, value: undefined });
    expect(source.subscribers).toBe(0);
    const late = observed(controller.signal);
    expect(await late.values.next()).toEqual({ done: true, value: undefined });
    expect(late.source.reads).toBe(0);
  });

  it("ends for a consumer that breaks off, also under a next() that waits", async () => {
    const { source, values } = observed();
    await values.next();
    const next = values.next();
    await values.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(source.subscribers).toBe(0);
  });

  it("ends with ProviderClosedError when the provider closes", async () => {
    const { provider, source, values } = observed();
    await values.next();
    const next = values.next();
    const refused = expect(next).rejects.toBeInstanceOf(ProviderClosedError);
    await provider.close();
    await refused;
    expect(source.subscribers).toBe(0);
  });

  it("reads again after an error that may pass, and ends with one that will not", async () => {
    const { source, values } = observed();
    source.failure = new BackendError("away");
    const next = values.next();
    await expect.poll(() => source.reads).toBeGreaterThan(1);
    source.failure = undefined;
    expect((await next).value).toBe(0);
    source.failure = new InvalidArgumentError("never");
    source.set(1);
    await expect(values.next()).rejects.toBe(source.failure);
    expect(source.subscribers).toBe(0);
  });
});
