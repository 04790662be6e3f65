import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TreeMirror } from "../../src/zookeeper/tree-mirror.js";

const silent = { asOfMs: 0, changing: () => {}, changed: () => {}, removed: () => {} };

function childrenOf(mirror: TreeMirror, path: string): string[] {
  return [...(mirror.get(path)?.names() ?? [])].sort();
}

describe("names below a root", () => {
  it("keep what an event reported during the walk, against a listing that is older or newer", () => {
    const mirror = new TreeMirror(silent);
    mirror.beginWalk();
    mirror.created("/locks/a/lock-0000000002");
    mirror.created("/locks/a/lock-0000000001");
    mirror.deleted("/locks/a/lock-0000000001");
    // The listing may have been read before or after either event. What the events reported is not older than the listing.
    mirror.merge("/locks/a", ["lock-0000000000", "lock-0000000001"], 1);
    expect(childrenOf(mirror, "/locks/a")).toEqual(["lock-0000000000", "lock-0000000002"]);
    mirror.endWalk();
    mirror.merge("/locks/a", ["lock-0000000001"], 2);
    expect(childrenOf(mirror, "/locks/a")).toEqual(["lock-0000000001"]);
  });

  it("drop a level with all below it, and places that a pass has not come by", () => {
    const mirror = new TreeMirror(silent);
    for (const path of ["/r", "/r/a", "/r/a/b", "/r/a/b/lock-0000000000", "/r/c"]) mirror.created(path);
    mirror.deleted("/r/a");
    expect([mirror.get("/r/a"), mirror.get("/r/a/b")]).toEqual([undefined, undefined]);
    mirror.merge("/r", ["c"], 7);
    expect(mirror.prune("/r", 7)).toBe(1);
    expect(mirror.get("/r/c")).toBeUndefined();
  });

  it("keep a place that a later pass has come by, though an earlier one ends after it", () => {
    const mirror = new TreeMirror(silent);
    for (const path of ["/r", "/r/a"]) mirror.created(path);
    for (const pass of [7, 8]) mirror.merge("/r", ["a"], pass);
    for (const pass of [8, 7]) mirror.merge("/r/a", ["lock-0000000000"], pass);
    expect([mirror.prune("/r", 7), mirror.prune("/r", 8)]).toEqual([0, 0]);
    expect(childrenOf(mirror, "/r/a")).toEqual(["lock-0000000000"]);
  });

  it("take a node for a level as soon as something is below it, whatever its name", () => {
    const mirror = new TreeMirror(silent);
    mirror.created("/r");
    mirror.created("/r/lock-0000000001");
    mirror.created("/r/lock-0000000001/lock-0000000000");
    expect(childrenOf(mirror, "/r/lock-0000000001")).toEqual(["lock-0000000000"]);
    expect(mirror.get("/r")?.numbered.size).toBe(0);
  });

  it("of a long listing come in parts, between which events count, and a level that is deleted meanwhile stays away", () => {
    const mirror = new TreeMirror(silent);
    mirror.created("/r");
    mirror.merge("/r", ["old"], 1);
    mirror.beginWalk();
    const names = Array.from({ length: 10 }, (_, n) => `order-${n}`);
    const merging = mirror.mergeInParts("/r", names, 2, 4);
    expect(merging.next().done).toBe(false);
    expect(mirror.get("/r")?.size).toBe(5);
    mirror.deleted("/r/order-0");
    mirror.deleted("/r/order-9");
    mirror.created("/r/late");
    let step = merging.next();
    while (step.done !== true) step = merging.next();
    const wanted = ["late", ...names.slice(1, 9)];
    expect(childrenOf(mirror, "/r")).toEqual(wanted);
    expect(step.value.sort()).toEqual(wanted.map((name) => `/r/${name}`));

    const again = mirror.mergeInParts("/r", names, 3, 4);
    again.next();
    mirror.deleted("/r");
    expect(again.next()).toEqual({ done: true, value: [] });
    expect(mirror.get("/r")).toBeUndefined();
  });

  it("end as the server's, whatever overtakes what while it walks", () => {
    const seed = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));
    console.log(`HOLDFAST_SEED=${seed}`);
    let state = seed >>> 0;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 500; round++) {
      const mirror = new TreeMirror(silent);
      const truth = new Set<string>(["lock-0000000000"]);
      /** Events are delivered in order, each some steps after its change. A listing is answered some steps after it was made. */
      const events: (() => void)[] = [];
      let listing: string[] | null = null;
      /** A long listing is merged part by part, with events in between. */
      let merging: Generator<void, string[]> | null = null;
      if (round % 4 === 3)
        for (const name of ["lock-0000000000", "lock-0000000005"]) mirror.created(`/a/${name}`);
      if (round % 4 === 3) truth.add("lock-0000000005");
      mirror.beginWalk();
      for (let step = 0; step < 30; step++) {
        const name = `lock-000000000${next(6)}`;
        const path = `/a/${name}`;
        if (truth.delete(name)) events.push(() => mirror.deleted(path));
        else {
          truth.add(name);
          events.push(() => mirror.created(path));
        }
        if (step === 10) listing = [...truth];
        if (step >= 15 && listing !== null && next(4) === 0) {
          if (round % 2 === 0) mirror.merge("/a", listing, 1);
          else merging = mirror.mergeInParts("/a", listing, 1, 1);
          listing = null;
        }
        if (merging !== null && next(2) === 0 && merging.next().done === true) merging = null;
        while (events.length > 0 && next(3) > 0) events.shift()?.();
      }
      if (listing !== null) mirror.merge("/a", listing, 1);
      while (merging?.next().done === false);
      for (const event of events) event();
      mirror.endWalk();
      expect(childrenOf(mirror, "/a"), `round ${round}`).toEqual([...truth].sort());
    }
  });
});
