import { describe, expect, it } from "vitest";
import type { Crew } from "../../src/engine/crew.js";
import { aim, strike } from "../../src/engine/faults/aim.js";
import type { FaultContext } from "../../src/engine/faults/fault.js";
import { Random } from "../../src/engine/random.js";
import { Tally } from "../../src/engine/tally.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";
import { granted, invoke, Numbered, released } from "./numbered.js";

function scene(target: string, names: readonly string[] = ["w0", "w1", "w2"]) {
  const tally = new Tally();
  const log = new Numbered((record) => tally.see(record));
  const workers = names.map((name) => ({ name, p: `${name}#0`, paused: false, process: { running: true } }));
  const notes: string[] = [];
  const over = new AbortController();
  const context: FaultContext = {
    planned: { fault: "test", target, atMs: 0 },
    set: {} as ServerSet,
    crew: {
      worker: (p: string) => workers.find((each) => each.p === p || each.name === p),
    } as unknown as Crew,
    tally,
    random: new Random(1, "aim"),
    signal: over.signal,
    begins: (who) => notes.push(`begins ${who}`),
    missed: (who) => notes.push(`missed ${who}`),
  };
  return { tally, log, workers, notes, context, over };
}

describe("an aim", () => {
  it("is at the holder, waits for one where there is none, and gives up when the run is over", async () => {
    const { context, log, over } = scene("holder(k1)");
    const aimed = aim(context);
    log.add(invoke("w1#0", "acquire", "k1", 1), granted("w1#0", "k1", 1));
    expect(await aimed).toMatchObject({ worker: { name: "w1" }, of: "w1#0:1" });
    log.add({ ...invoke("w1#0", "release", "k1", 2), hold: "w1#0:1" });
    const none = aim(context);
    over.abort();
    expect(await none).toBeNull();
  });

  it("waits for the next where one was there for a moment alone, as a waiter that is granted at once", async () => {
    const { context, log } = scene("waiter(k1)");
    const aimed = aim(context);
    log.add(invoke("w1#0", "acquire", "k1", 1), granted("w1#0", "k1", 1));
    await new Promise(setImmediate);
    log.add(invoke("w2#0", "acquire", "k1", 1));
    expect((await aimed)?.worker.name).toBe("w2");
  });

  it("at a keeper is at who keeps the lock, with an owner or without, as long as it keeps it", async () => {
    const { context, log } = scene("keeper(k1)");
    log.add(granted("w0#0", "k1", 1));
    const aimed = aim(context);
    log.add(released("w0#0", "k1", 2), granted("w1#0", "k1", 1), released("w1#0", "k1", 2, { kept: true }));
    const found = await aimed;
    expect(found).toMatchObject({ worker: { name: "w1" }, of: "w1#0:2" });
    log.add(granted("w1#0", "k1", 3));
    expect(found?.stands()).toBe(true);
    log.add(released("w1#0", "k1", 4));
    expect(found?.stands()).toBe(false);
  });

  it("is not at a worker that stands still or is dead", async () => {
    const { context, log, workers } = scene("waiter(k1)");
    for (const p of ["w0#0", "w1#0", "w2#0"]) log.add(invoke(p, "acquire", "k1", 1));
    Object.assign(workers[0] ?? {}, { paused: true });
    Object.assign(workers[2]?.process ?? {}, { running: false });
    for (let tries = 0; tries < 10; tries++) expect((await aim(context))?.worker.name).toBe("w1");
  });

  it("at the last waiter is at the youngest of several, so that its turn does not come at once", async () => {
    const { context, log } = scene("last-waiter(k1)");
    log.add(invoke("w0#0", "acquire", "k1", 1));
    const aimed = aim(context);
    log.add(invoke("w2#0", "acquire", "k1", 1));
    expect((await aimed)?.worker.name).toBe("w2");
  });

  it("at a holder at its work is at one that has had the time to read and has not written", async () => {
    const { context, log } = scene("holder(k1)");
    const working = { ...context, planned: { ...context.planned, options: { working: true } } };
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    log.add({ ...invoke("w0#0", "write", "k1", 2), hold: "w0#0:1" });
    const before = performance.now();
    log.add(invoke("w1#0", "acquire", "k1", 1), granted("w1#0", "k1", 1));
    const aimed = await aim(working);
    expect(aimed?.worker.name).toBe("w1");
    expect(performance.now() - before).toBeGreaterThan(30);
    expect(aimed?.stands()).toBe(true);
    log.add({ ...invoke("w1#0", "write", "k1", 2), hold: "w1#0:1" });
    expect(aimed?.stands()).toBe(false);
  });

  it("at a worker that there is not, or at no worker at all, is a mistake of the plan", async () => {
    await expect(aim(scene("worker(w9)").context)).rejects.toThrow(RangeError);
    await expect(aim(scene("leader").context)).rejects.toThrow(RangeError);
  });
});

describe("a strike", () => {
  it("that finds the hold given back is taken back, recorded as missed, and tried on the next holder", async () => {
    const { context, log, notes } = scene("holder(k1)");
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    const hit = await strike(
      context,
      async ({ worker }) => {
        notes.push(`blow at ${worker.name}`);
        if (worker.name !== "w0") return;
        log.add({ ...invoke("w0#0", "release", "k1", 2), hold: "w0#0:1" });
        log.add(invoke("w1#0", "acquire", "k1", 1), granted("w1#0", "k1", 1));
      },
      async ({ worker }) => {
        notes.push(`undone at ${worker.name}`);
      },
    );
    expect(hit).toMatchObject({ worker: { name: "w1" }, of: "w1#0:1" });
    expect(notes).toEqual([
      "begins w0",
      "blow at w0",
      "undone at w0",
      "missed w0",
      "begins w1",
      "blow at w1",
    ]);
  });

  it("that makes the holder lose its hold has hit it", async () => {
    const { context, log, notes } = scene("holder(k1)");
    log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
    const blow = async (): Promise<void> =>
      log.add({ t: 2, type: "event", p: "w0#0", f: "lost", key: "k1", hold: "w0#0:1" });
    expect((await strike(context, blow, async () => {})).of).toBe("w0#0:1");
    expect(notes).toEqual(["begins w0"]);
  });
});
