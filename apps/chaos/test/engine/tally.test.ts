import { describe, expect, it } from "vitest";
import { Tally } from "../../src/engine/tally.js";
import { granted, invoke, Numbered, released } from "./numbered.js";

function start(): { tally: Tally; log: Numbered } {
  const tally = new Tally();
  return { tally, log: new Numbered((record) => tally.see(record)) };
}

describe("the tally", () => {
  it("forgets the holds and waits of a worker that was killed, also those whose records come late", () => {
    const { tally, log } = start();
    log.add(
      invoke("w0#0", "acquire", "k1", 1),
      granted("w0#0", "k1", 1),
      invoke("w0#0", "acquire", "k2", 2),
      { t: 2, type: "worker", p: "w0#0", f: "killed" },
    );
    expect([tally.holders("k1"), tally.waiters("k2")]).toEqual([[], []]);
    log.add(granted("w0#0", "k2", 2));
    expect(tally.holders("k2")).toEqual([]);
  });

  it("distinguishes a hold that was lost from one that was given back", () => {
    const { tally, log } = start();
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    log.add({ t: 2, type: "event", p: "w0#0", f: "lost", key: "k1", hold: "w0#0:1" });
    expect([tally.holders("k1").length, tally.givenBack("w0#0:1")]).toEqual([0, false]);
    log.add({ ...invoke("w0#0", "release", "k1", 2), hold: "w0#0:1" });
    expect(tally.givenBack("w0#0:1")).toBe(true);
  });

  it("knows when a lock last changed hands: at a grant or a release that came back well, and at nothing else", () => {
    const { tally, log } = start();
    log.add(invoke("w0#0", "acquire", "k1", 1));
    log.add({ t: 1, type: "fail", p: "w0#0", f: "acquire", key: "k1", op: 1 });
    expect(tally.changedMs).toBe(0);
    for (const record of [granted("w0#0", "k1", 2), released("w0#0", "k1", 3)]) {
      const before = performance.now();
      log.add(record);
      expect(tally.changedMs).toBeGreaterThanOrEqual(before);
      expect(tally.changedMs).toBeLessThanOrEqual(performance.now());
    }
    const { changedMs } = tally;
    log.add(invoke("w0#0", "release", "k1", 4));
    expect(tally.changedMs).toBe(changedMs);
  });

  it("knows who keeps a lock, from the release that kept it to one that did not, another's grant or a death", () => {
    const { tally, log } = start();
    const kept = (): string | undefined => tally.keeping("k1")?.id;
    log.add(granted("w0#0", "k1", 1), released("w0#0", "k1", 2));
    expect(kept()).toBeUndefined();
    log.add(released("w0#0", "k1", 3, { kept: true }), granted("w0#0", "k1", 4), granted("w1#0", "k2", 1));
    log.add(released("w0#0", "k1", 5, { kept: true }));
    expect(kept()).toBe("w0#0:3");
    log.add(granted("w0#0", "k1", 6), released("w0#0", "k1", 7));
    expect(kept()).toBeUndefined();
    log.add(released("w0#0", "k1", 8, { kept: true }), granted("w1#0", "k1", 2));
    expect(kept()).toBeUndefined();
    log.add(released("w1#0", "k1", 3, { kept: true }), { t: 2, type: "worker", p: "w1#0", f: "killed" });
    expect(kept()).toBeUndefined();
    log.add(released("w1#0", "k1", 4, { kept: true }));
    expect(kept()).toBeUndefined();
  });

  it("names waiters in the order in which they asked", () => {
    const { tally, log } = start();
    log.add(
      invoke("w2#0", "acquire", "k1", 1),
      invoke("w0#0", "acquire", "k1", 1),
      invoke("w1#0", "acquire", "k2", 1),
    );
    expect(tally.waiters("k1").map(({ p }) => p)).toEqual(["w2#0", "w0#0"]);
  });

  it("ends a wait for something when it happens, when the time is over, and when the signal aborts", async () => {
    const { tally, log } = start();
    const over = new AbortController();
    const held = (): boolean => tally.holders("k1").length > 0;
    const met = tally.until(held);
    const late = tally.until(held, { withinMs: 1 });
    const aborted = tally.until(() => false, { signal: over.signal });
    expect(await late).toBe(false);
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    over.abort();
    expect([await met, await aborted]).toEqual([true, false]);
    expect(await tally.until(held)).toBe(true);
  });

  it("does not take a grant from before the last fault's end, which arrives late, for one after it", () => {
    const { tally, log } = start();
    log.add(invoke("w0#0", "acquire", "k1", 1), invoke("w1#0", "acquire", "k1", 1));
    log.add({ t: 5, type: "fault", p: "nemesis", f: "zk.kill", phase: "begin" });
    log.add({ t: 9, type: "fault", p: "nemesis", f: "zk.kill", phase: "end" });
    tally.forgetClients();
    log.add({ ...granted("w0#0", "k1", 1), t: 8 });
    log.add({ ...granted("w1#0", "k1", 1), t: 10 });
    expect([...tally.of("k1").grantedTo]).toEqual(["w1#0"]);
  });

  it("does not count the end of a try that missed its target as the end of a fault", () => {
    const { tally, log } = start();
    const ends = { type: "fault", p: "nemesis", f: "worker.kill", phase: "end" } as const;
    log.add({ ...ends, t: 5, evidence: { missed: "w0#0:1", hit: false } });
    expect(tally.ended("worker.kill")).toBe(0);
    log.add({ ...ends, t: 9, evidence: { pid: 7 } });
    expect(tally.ended("worker.kill")).toBe(1);
  });

  it("counts anew to which clients a key was granted once these were forgotten", () => {
    const { tally, log } = start();
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    tally.forgetClients();
    log.add(invoke("w1#0", "acquire", "k1", 1), granted("w1#0", "k1", 1));
    expect([...tally.of("k1").grantedTo]).toEqual(["w1#0"]);
    expect(tally.of("k1").grants).toBe(2);
  });
});
