import { describe, expect, it } from "vitest";
import { Tally } from "../../src/engine/tally.js";
import { parseTrigger, parseWorkerTarget } from "../../src/engine/trigger.js";
import { granted, invoke, Numbered } from "./numbered.js";

describe("a trigger", () => {
  it("is met by a hold that is there now, and not by one that was given back", () => {
    const tally = new Tally();
    const log = new Numbered((record) => tally.see(record));
    const held = parseTrigger("held(k1)");
    expect(held.met(tally)).toBe(false);
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    expect(held.met(tally)).toBe(true);
    log.add({ ...invoke("w0#0", "release", "k1", 2), hold: "w0#0:1" });
    expect(held.met(tally)).toBe(false);
  });

  it("counts waiters, grants, writes and faults up to the number that is asked for", () => {
    const tally = new Tally();
    const log = new Numbered((record) => tally.see(record));
    const two = [
      "waiting(k1, 2)",
      "granted(k1, 2)",
      "written(k1, 2)",
      "begun(zk.kill, 2)",
      "ended(zk.kill,2)",
    ].map(parseTrigger);
    const met = (): boolean[] => two.map((trigger) => trigger.met(tally));
    const round = (p: string): void =>
      log.add(
        invoke(p, "acquire", "k1", 1),
        granted(p, "k1", 1),
        { t: 1, type: "effect", p: "resource", key: "k1", hold: `${p}:1`, accepted: true },
        { t: 1, type: "fault", p: "nemesis", f: "zk.kill", phase: "begin" },
        { t: 1, type: "fault", p: "nemesis", f: "zk.kill", phase: "end" },
        invoke(p, "acquire", "k1", 2),
      );
    round("w0#0");
    expect(met()).toEqual([false, false, false, false, false]);
    round("w1#0");
    expect(met()).toEqual([true, true, true, true, true]);
  });

  it.each(["", "held", "held()", "held(k1, x)", "seen(k1)", "held(k1) held(k2)", "granted(k1, -1)"])(
    "that is %j is refused before a run",
    (text) => {
      expect(() => parseTrigger(text)).toThrow(RangeError);
    },
  );
});

describe("a target", () => {
  it("names a worker, a holder or a waiter, or else is a server's", () => {
    expect(parseWorkerTarget("holder(k1)")).toEqual({ role: "holder", name: "k1" });
    expect(parseWorkerTarget("keeper(k1)")).toEqual({ role: "keeper", name: "k1" });
    expect(parseWorkerTarget("last-waiter( rw )")).toEqual({ role: "last-waiter", name: "rw" });
    expect(parseWorkerTarget("worker(w3)")).toEqual({ role: "worker", name: "w3" });
    for (const server of ["leader", "zk1", "all", "owner(k1)"]) expect(parseWorkerTarget(server)).toBeNull();
  });
});
