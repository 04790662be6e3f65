import { readFile } from "node:fs/promises";
import type { LockProvider, LockSnapshot, Millis, PrimitiveKind } from "@holdfast/core";
import type { BackendLink } from "@holdfast/core/driver";
import { DriverProvider, EventHub, resolveProviderOptions } from "@holdfast/core/internal";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Table, tableDriver } from "./example-backend.js";

/** Answers each call 1 ms after it was made. */
class SimulatedTable implements Table {
  readonly rows = new Map<string, { readonly owner: string; readonly token: bigint; untilMs: Millis }>();
  readonly #runtime: SimulatedRuntime;
  readonly #onDeleted = new Map<string, () => void>();
  #tokens = 0n;

  constructor(runtime: SimulatedRuntime) {
    this.#runtime = runtime;
  }

  insert(name: string, owner: string, leaseMs: Millis): Promise<bigint | null> {
    return this.#answer(() => {
      if (this.#row(name) !== undefined) return null;
      const token = ++this.#tokens;
      this.rows.set(name, { owner, token, untilMs: this.#runtime.nowMs() + leaseMs });
      return token;
    });
  }

  update(name: string, owner: string, leaseMs: Millis): Promise<boolean> {
    return this.#answer(() => {
      const row = this.#row(name);
      if (row?.owner !== owner) return false;
      row.untilMs = this.#runtime.nowMs() + leaseMs;
      return true;
    });
  }

  delete(name: string, owner: string): Promise<boolean> {
    return this.#answer(() => this.#row(name)?.owner === owner && this.rows.delete(name));
  }

  onDeleted(owner: string, deleted: () => void): void {
    this.#onDeleted.set(owner, deleted);
  }

  snapshot(_kind: PrimitiveKind, _name: string): Promise<LockSnapshot> {
    throw new Error("these tests look at the rows");
  }

  deleteByOperator(name: string): void {
    const owner = this.#row(name)?.owner ?? "";
    this.rows.delete(name);
    this.#onDeleted.get(owner)?.();
  }

  #row(name: string) {
    const row = this.rows.get(name);
    return row !== undefined && row.untilMs > this.#runtime.nowMs() ? row : undefined;
  }

  #answer<T>(of: () => T): Promise<T> {
    return new Promise((resolve) => this.#runtime.setTimer(1, () => resolve(of())));
  }
}

const link: BackendLink = { state: "connected", whenConnected: async () => {} };

describe("the example of a backend in CONTRIBUTING.md", () => {
  let runtime: SimulatedRuntime;
  let running: Disposable;
  let table: SimulatedTable;
  let locks: LockProvider;

  beforeEach(() => {
    runtime = simulatedRuntime(1);
    running = runtime.autoAdvance();
    table = new SimulatedTable(runtime);
    const events = new EventHub({ provider: runtime.randomId(), backend: "memory", runtime });
    const options = resolveProviderOptions("tableLocks", { runtime });
    locks = new DriverProvider({ driver: tableDriver(table, runtime), link, events, options });
  });
  afterEach(async () => {
    await locks.close();
    running[Symbol.dispose]();
  });

  it("is the file that these tests run", async () => {
    const source = await readFile(new URL("example-backend.ts", import.meta.url), "utf8");
    const page = await readFile(new URL("../../../CONTRIBUTING.md", import.meta.url), "utf8");
    const [, shown = ""] = source.split("shows this file.\n\n");
    const inPage = page.replace(/^ {3}/gm, "");
    expect(shown).toContain("listener.granted");
    expect(inPage).toContain(shown.trim());
  });

  it("grants to one client at a time, to a waiter after the release, with rising tokens", async () => {
    const first = await locks.mutex("a").acquire();
    expect(await locks.mutex("a").tryAcquire()).toBeNull();
    const waiting = locks.mutex("a").acquire({ waitMs: 5_000 });
    await runtime.advance(1_000);
    expect(await first.release()).toBe("released");
    const second = await waiting;
    expect(second.token).toBeGreaterThan(first.token as bigint);
    expect(await second.release()).toBe("released");
    expect(table.rows.size).toBe(0);
  });

  it("keeps a hold by renewals, and reports its loss when an operator deletes the row", async () => {
    const handle = await locks.mutex("a").acquire();
    await runtime.advance(100_000);
    handle.assertHeld();
    const { lost } = handle;
    table.deleteByOperator("a");
    expect(lost.reason).toMatchObject({ reason: "stolen" });
  });

  it("leaves no row behind an acquire that was aborted before the answer", async () => {
    const abort = new AbortController();
    const acquired = locks.mutex("a").acquire({ signal: abort.signal });
    abort.abort();
    await expect(acquired).rejects.toThrow();
    await runtime.advance(10);
    expect(table.rows.size).toBe(0);
  });
});
