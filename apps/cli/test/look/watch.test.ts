import type { CollectorEvent, LockCollector, ObservedLockDetail } from "@holdfast/collectors";
import { describe, expect, it } from "vitest";
import { Watcher } from "../../src/look/watch.js";

/** The part of a collector that `watch` uses, filled by the test. */
class FakeCollector {
  readonly rows = new Map<string, ObservedLockDetail>();
  attended: readonly string[] = [];
  detail = async (key: string): Promise<ObservedLockDetail | null> => this.rows.get(key) ?? null;
  readonly #listeners = new Set<(event: CollectorEvent) => void>();

  locks(): Iterable<ObservedLockDetail> {
    return this.rows.values();
  }

  get(key: string): ObservedLockDetail | undefined {
    return this.rows.get(key);
  }

  sources(): [] {
    return [];
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    const update = (wanted: readonly string[]): void => {
      this.attended = wanted;
    };
    update(keys);
    return { update, end: () => update([]) };
  }

  onEvent(listener: (event: CollectorEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(...events: CollectorEvent[]): void {
    for (const event of events) for (const listener of this.#listeners) listener(event);
  }

  /** The lock is now held by these entries, or free if there are none. */
  put(key: string, ...entries: string[]): ObservedLockDetail {
    const row = {
      ...{ key, waiterCount: 0, waiters: [], state: entries.length > 0 ? "held" : "idle" },
      holders: entries.map((entry) => ({ entry, since: { atMs: null, provenance: "unknown" }, token: null })),
    } as unknown as ObservedLockDetail;
    this.rows.set(key, row);
    return row;
  }
}

type Line = Parameters<ConstructorParameters<typeof Watcher>[2]["print"]>[0];

/** Starts a watcher on the collector. `printed` gets its lines, by event and lock. */
function watching(
  collector: FakeCollector,
  each: (line: Line) => void = () => {},
): { readonly watcher: Watcher; readonly printed: string[] } {
  const printed: string[] = [];
  const io = { out: () => {}, err: () => {}, isTty: false, signal: new AbortController().signal };
  const view = { collector: collector as unknown as LockCollector, address: "here", beganMs: 0 };
  const print = (line: Line): void => {
    each(line);
    printed.push(`${line.event} ${line.lock}`);
  };
  return { watcher: new Watcher(view, io, { pattern: undefined, print }), printed };
}

const hold = { atMs: 1, token: null, heldMs: null } as const;

describe("holdfast watch", () => {
  it("prints the next hold of the same name as one that ended while the watch read who holds", async () => {
    const collector = new FakeCollector();
    const before = collector.put("a", "owner:1");
    const { watcher, printed } = watching(collector);
    let answer = (_: ObservedLockDetail): void => {};
    const first = new Promise<ObservedLockDetail>((resolve) => {
      answer = resolve;
    });
    const { detail } = collector;
    collector.detail = () => first;
    const begun = watcher.begin();
    collector.put("a");
    collector.emit({ type: "released", key: "a", entry: "owner:1", ...hold });
    answer(before);
    await begun;
    collector.detail = detail;
    collector.put("a", "owner:1");
    collector.emit({ type: "granted", key: "a", entry: "owner:1", ...hold });
    await watcher.end();
    expect(printed).toEqual(["released a", "granted a"]);
  });

  describe("where more wait than before", () => {
    /** The lines about waits that are printed when a lock had `before` waiters and then has `entries`. */
    async function waits(before: number, entries: readonly string[], maxWaiters = 200): Promise<unknown[]> {
      const collector = new FakeCollector();
      const lines: unknown[] = [];
      const put = (waiterCount: number): void => {
        const waiters = entries.slice(0, Math.min(waiterCount, maxWaiters)).map((entry) => ({ entry }));
        collector.rows.set("a", { ...collector.put("a", "owner:1"), waiterCount, waiters } as never);
      };
      put(before);
      const { watcher } = watching(collector, ({ event, entry, waiterCount }) => {
        if (event === "waits") lines.push([entry, waiterCount]);
      });
      await watcher.begin();
      put(entries.length);
      collector.emit({ type: "changed", key: "a" });
      await watcher.end();
      return lines;
    }

    it("prints a line for each of several that came at once", async () => {
      const came = await waits(1, ["w1", "w2", "w3", "w4"]);
      expect(came).toEqual([
        ["w2", 2],
        ["w3", 3],
        ["w4", 4],
      ]);
    });

    it("names no waiter who came long before, where the queue is longer than what is read of it", async () => {
      const entries = Array.from({ length: 203 }, (_, at) => `w${at}`);
      expect(await waits(200, entries)).toEqual([[null, 203]]);
      expect(await waits(199, entries)).toEqual([
        ["w199", 200],
        [null, 203],
      ]);
    });

    it("names the new one also where the first has been granted the lock before it was read", async () => {
      const collector = new FakeCollector();
      const lines: unknown[] = [];
      const row = (...entries: string[]) =>
        ({
          ...collector.put("a"),
          waiterCount: entries.length,
          waiters: entries.map((entry) => ({ entry })),
        }) as never;
      collector.rows.set("a", row("w1"));
      const { watcher } = watching(collector, ({ entry, waiterCount }) => lines.push([entry, waiterCount]));
      await watcher.begin();
      collector.rows.set("a", row("w1", "w2"));
      collector.emit({ type: "changed", key: "a" });
      collector.rows.set("a", row("w2"));
      await watcher.end();
      expect(lines).toEqual([["w2", 2]]);
    });

    it("prints the count alone where waiters leave no name in the backend", async () => {
      expect(await waits(1, ["w1", "w2", "w3"], 0)).toEqual([[null, 3]]);
    });
  });

  it("looks at 2,000 locks at most, of which those that are free or gone make room for others", async () => {
    const collector = new FakeCollector();
    for (let at = 0; at < 2_000; at++) collector.put(`held ${at}`, "owner:1");
    const { watcher } = watching(collector);
    await watcher.begin();
    const comes = (key: string): void => {
      collector.put(key, "owner:2");
      collector.emit({ type: "changed", key });
    };
    comes("one too many");
    expect(collector.attended).not.toContain("one too many");
    collector.put("held 7");
    collector.emit({ type: "changed", key: "held 7" });
    collector.rows.delete("held 8");
    collector.emit({ type: "removed", key: "held 8" });
    for (const key of ["x", "y", "z"]) comes(key);
    expect(collector.attended).toHaveLength(2_000);
    const named = ["held 6", "held 7", "held 8", "x", "y", "z"];
    expect(named.filter((key) => collector.attended.includes(key))).toEqual(["held 6", "x", "y"]);
    await watcher.end();
  });
});
