import { type LockSnapshot, UnsupportedError } from "@holdfast/core";
import type { LockDriver } from "@holdfast/core/driver";
import { describe, expect, it } from "vitest";
import { outage, refusal, type Settings, settle, standing } from "./election-stage.js";
import { type Deferred, deferred } from "./scripted-driver.js";

describe("observe", () => {
  /** An election at a backend whose answers and change notices come from the test. */
  function watched(settings: Settings = {}) {
    const looks: Deferred<LockSnapshot>[] = [];
    const state = { changed: () => {}, watches: 0, stops: 0, open: 0, mostOpen: 0 };
    const driver: Partial<LockDriver> = {
      watch(kind, name, changed) {
        expect([kind, name]).toEqual(["leader-election", "e"]);
        state.watches++;
        state.changed = changed;
        return () => {
          state.stops++;
        };
      },
      async inspect() {
        const look = deferred<LockSnapshot>();
        looks.push(look);
        state.mostOpen = Math.max(state.mostOpen, ++state.open);
        return await look.promise.finally(() => {
          state.open--;
        });
      },
    };
    return { state, looks, ...standing({ driver, ...settings }) };
  }

  function led(label: string | null, backendId = "/elections/e/node-1"): LockSnapshot {
    const info = { owner: null, mode: "exclusive" as const, backendId, session: null, address: null };
    const age = { value: null, provenance: "unknown" as const };
    const seen = { ...info, label, recognisedAs: "unknown" as const, sinceMs: age };
    const held = {
      ...seen,
      token: null,
      holdCount: 1,
      heldByThisProvider: false,
      remainingMs: null,
      kept: false,
    };
    return {
      name: "e",
      takenAt: new Date(0),
      kind: "leader-election",
      held: [held],
      pending: [],
      pendingTotal: 0,
    };
  }

  it("is not supported where the backend does not report changes", () => {
    expect(() => standing().election.observe()).toThrow(UnsupportedError);
  });

  it("looks once at a time, again when something changed during a look, and stops the watch at its end", async () => {
    const { state, looks, election } = watched();
    const seen = election.observe()[Symbol.asyncIterator]();
    expect(state.watches).toBe(0);
    const first = seen.next();
    await settle();
    for (let i = 0; i < 5; i++) state.changed();
    await settle();
    expect(looks).toHaveLength(1);
    looks[0]?.resolve(led("a"));
    expect((await first).value).toEqual({ id: "node-1", label: "a", leader: true });
    const second = seen.next();
    await settle();
    // All changes during the first look together cause one more look.
    expect(looks).toHaveLength(2);
    looks[1]?.resolve(led("a"));
    await settle();
    expect(looks).toHaveLength(2);
    state.changed();
    await settle();
    looks[2]?.resolve(led(null, "/elections/e/node-2"));
    expect((await second).value).toEqual({ id: "node-2", leader: true });
    expect(state).toMatchObject({ watches: 1, stops: 0, mostOpen: 1 });
    await seen.return?.();
    expect(state.stops).toBe(1);
  });

  it("looks again after trouble that passes, and ends with an error that does not", async () => {
    const { runtime, state, looks, election } = watched({ retry: { next: () => 10 } });
    const seen = election.observe()[Symbol.asyncIterator]();
    const first = seen.next();
    await settle();
    looks[0]?.reject(outage());
    await settle();
    await runtime.advance(10);
    looks[1]?.resolve(led("a"));
    expect((await first).value).toMatchObject({ label: "a" });
    const second = seen.next();
    state.changed();
    await settle();
    const final = refusal();
    looks[2]?.reject(final);
    await expect(second).rejects.toBe(final);
    expect(state.stops).toBe(1);
    expect(await seen.next()).toEqual({ done: true, value: undefined });
  });
});
