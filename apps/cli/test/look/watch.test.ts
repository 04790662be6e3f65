import type { CollectorEvent, LockCollector, ObservedLockDetail } from "@holdfast/collectors";
import { describe, expect, it } from "vitest";
import { Watcher } from "../../src/look/watch.js";

/** What `watch` asks of a collector, as a test has put it there. */
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

  /** The lock is held by these, or free. */
  put(key: string, ...entries: string[]): ObservedLockDetail {
    const row = {
      ...{ key, waiterCount: 0, waiters: [], state: entries.length > 0 ? "held" : "idle" },
      holders: entries.map((entry) => ({ entry, since: { atMs: null, provenance: "unknown" }, token: null })),
    } as unknown as ObservedLockDetail;
    this.rows.set(key, row);
    return row;
  }
}

/** What a watcher of the collector prints, by event and lock. */
function watching(collector: FakeCollector): { readonly watcher: Watcher; readonly printed: string[] } {
  const printed: string[] = [];
  const io = { out: () => {}, err: () => {}, isTty: false, signal: new AbortController().signal };
  const view = { collector: collector as unknown as LockCollector, address: "here", beganMs: 0 };
  const print = ({ event, lock }: { readonly event: string; readonly lock: string }): void =>
    void printed.push(`${event} ${lock}`);
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
