import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { RunClock } from "../../src/engine/clock.js";
import type { Crew } from "../../src/engine/crew.js";
import type { FaultKind } from "../../src/engine/faults/fault.js";
import { serverFaults } from "../../src/engine/faults/server.js";
import { Nemesis, type NemesisOptions } from "../../src/engine/nemesis.js";
import { Recorder } from "../../src/engine/recorder.js";
import type { PlannedFault } from "../../src/engine/scenario.js";
import { Tally } from "../../src/engine/tally.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";
import type { FaultRecord, HistoryRecord } from "../../src/history/record.js";
import { granted, invoke } from "./numbered.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nemesis-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Bench {
  readonly nemesis: Nemesis;
  readonly recorder: Recorder;
  readonly did: string[];
  readonly records: HistoryRecord[];
  faults(): string[];
}

function bench(
  plan: readonly PlannedFault[],
  more: Readonly<Record<string, FaultKind>> = {},
  options: Pick<NemesisOptions, "keys" | "settleMs"> = {},
): Bench {
  const recorder = new Recorder(join(folder, "history.jsonl"), new RunClock());
  const tally = new Tally();
  const records: HistoryRecord[] = [];
  recorder.listen((record) => {
    records.push(record);
    tally.see(record);
  });
  const did: string[] = [];
  const kind = (name: string, heals: boolean): FaultKind => ({
    begin: async (context) => {
      context.begins("zk1");
      did.push(name);
      const heal = async (): Promise<unknown> => {
        did.push(`${name} healed`);
        return { after: 1 };
      };
      return { target: "zk1", evidence: { pid: 7 }, ...(heals ? { heal } : {}) };
    },
  });
  const nemesis = new Nemesis({
    plan,
    faults: { stop: kind("stop", true), blow: kind("blow", false), ...more },
    // The fake faults need neither servers nor workers.
    set: {} as ServerSet,
    crew: {} as Crew,
    recorder,
    tally,
    ...options,
    seed: 1,
    scenario: "T",
  });
  const faults = (): string[] =>
    records
      .filter((record): record is FaultRecord => record.type === "fault")
      .map(({ f, phase, target, evidence }) => `${f} ${phase} ${target} ${JSON.stringify(evidence) ?? "-"}`);
  return { nemesis, recorder, did, records, faults };
}

/** Fake time that passes only when the test says so. It shows what must not happen however long nothing else does. */
function timeOfOurs(): (ms: number) => Promise<unknown> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  return (ms) => vi.advanceTimersByTimeAsync(ms);
}

describe("the nemesis", () => {
  it("takes a fault back after its time, and records both ends with what shows that it happened", async () => {
    const { nemesis, did, faults } = bench([{ fault: "stop", atMs: 0, forMs: 5 }]);
    await nemesis.run();
    expect(did).toEqual(["stop", "stop healed"]);
    expect(faults()).toEqual(["stop begin zk1 -", 'stop end zk1 {"pid":7,"after":1}']);
    expect(nemesis.failures).toEqual([]);
  });

  it("ends at once what has nothing to take back", async () => {
    const { nemesis, faults } = bench([{ fault: "blow", atMs: 0, forMs: 60_000 }]);
    await nemesis.run();
    expect(faults()).toEqual(["blow begin zk1 -", 'blow end zk1 {"pid":7}']);
  });

  it("leaves a fault without an end on until everything is healed", async () => {
    const { nemesis, did } = bench([{ fault: "stop", atMs: 0 }]);
    await nemesis.run();
    expect(did).toEqual(["stop"]);
    await nemesis.heal();
    await nemesis.heal();
    expect(did).toEqual(["stop", "stop healed"]);
  });

  it("waits for the trigger, and only then for the time behind it", async () => {
    const { nemesis, recorder, did } = bench([
      { fault: "blow", atMs: 0, after: "held(k1)" },
      { fault: "stop", atMs: 0, after: "ended(blow)", forMs: 0 },
    ]);
    const pass = timeOfOurs();
    const running = nemesis.run();
    await pass(10_000);
    expect(did).toEqual([]);
    recorder.arrived(invoke("w0#0", "acquire", "k1", 1));
    recorder.arrived(granted("w0#0", "k1", 1));
    await pass(1_000);
    await running;
    expect(did).toEqual(["blow", "stop", "stop healed"]);
  });

  it("names what did not come to pass: a trigger that was not met, a fault that failed", async () => {
    const failing: FaultKind = {
      begin: async (context) => {
        context.begins("zk2");
        throw new Error("it would not die");
      },
    };
    const { nemesis, faults, did } = bench(
      [
        { fault: "stop", atMs: 0, after: "held(k1)" },
        { fault: "bad", atMs: 0 },
        { fault: "who", atMs: 0 },
      ],
      { bad: failing },
    );
    const running = nemesis.run();
    await expect.poll(() => nemesis.failures.length).toBe(2);
    nemesis.giveUp();
    await running;
    expect(did).toEqual([]);
    expect(nemesis.failures.toSorted()).toEqual([
      "bad : it would not die",
      "stop : held(k1) did not come",
      "who : nobody knows it",
    ]);
    // There is no evidence, so `stats` says that nothing shows that the fault happened.
    expect(faults()).toEqual(["bad begin zk2 -", "bad end zk2 -"]);
  });

  it("takes back what there is of a fault that fails, and only then records its end", async () => {
    const half: FaultKind = {
      begin: async ({ begins, missed }) => {
        begins("zk1", async () => did.push("zk1"));
        missed("zk1", { missed: 1 });
        begins("zk2", async () => did.push(`zk2 after ${faults().at(-1)}`));
        begins("zk3", async () => {
          throw new Error("it stays down");
        });
        throw new Error("no other was promoted");
      },
    };
    const { nemesis, did, faults } = bench([{ fault: "half", atMs: 0 }], { half });
    await nemesis.run();
    expect(did).toEqual(["zk2 after half begin zk3 -"]);
    expect(faults()).toEqual([
      "half begin zk1 -",
      'half end zk1 {"missed":1,"hit":false}',
      "half begin zk2 -",
      "half begin zk3 -",
      "half end zk2 -",
      "half end zk3 -",
    ]);
    expect(nemesis.failures).toEqual([
      "half could not be taken back: it stays down",
      "half : no other was promoted",
    ]);
  });

  it("starts all servers again where one could not be killed, and not before the others are", async () => {
    const { "zk.kill": kill } = serverFaults("zk");
    const kills: Readonly<Record<string, () => Promise<unknown>>> = {
      zk1: () => new Promise((resolve) => setImmediate(resolve)),
      zk2: () => Promise.reject(new Error("it would not die")),
    };
    const servers = Object.entries(kills).map(([name, dies]) => ({
      name,
      role: async () => null,
      evidence: () => ({}),
      kill: async () => {
        await dies();
        did.push(`${name} killed`);
      },
      restart: async () => did.push(`${name} restarted`),
    }));
    const set = { servers } as unknown as ServerSet;
    const { nemesis, did, faults } = bench([{ fault: "zk.kill", target: "all", atMs: 0 }], {
      "zk.kill": { begin: async (context) => await (kill as FaultKind).begin({ ...context, set }) },
    });
    await nemesis.run();
    expect(did).toEqual(["zk1 killed", "zk1 restarted", "zk2 restarted"]);
    expect(faults()).toEqual(["zk.kill begin zk1,zk2 -", "zk.kill end zk1,zk2 -"]);
    expect(nemesis.failures).toEqual(["zk.kill all: it would not die"]);
  });

  it("is healed early from the middle of a fault, once, and says that it was shorter than planned", async () => {
    const { nemesis, did } = bench([{ fault: "stop", atMs: 0, forMs: 60_000 }]);
    const running = nemesis.run();
    await expect.poll(() => did).toEqual(["stop"]);
    await nemesis.heal();
    await running;
    expect(did).toEqual(["stop", "stop healed"]);
    expect(nemesis.failures).toEqual(["stop : it was taken back before its 60000 ms were over"]);
  });
});

describe("lanes", () => {
  const lane = (fault: string, lanes: PlannedFault["lanes"], more: Partial<PlannedFault> = {}) => ({
    fault,
    atMs: 0,
    ...(lanes && { lanes }),
    ...more,
  });

  it("have one fault at a time, however long that takes; other lanes go on beside it", async () => {
    let done = (): void => {};
    const held = new Promise<void>((resolve) => {
      done = resolve;
    });
    const slow: FaultKind = {
      begin: async (context) => {
        context.begins("zk1");
        await held;
        return { target: "zk1", evidence: {} };
      },
    };
    const { nemesis, did, faults } = bench(
      [
        lane("slow", ["clients"]),
        lane("stop", ["clients"], { forMs: 5 }),
        lane("blow", ["servers"]),
        lane("blow", ["servers", "clients"]),
      ],
      { slow },
    );
    const running = nemesis.run();
    await expect.poll(() => did).toEqual(["blow"]);
    done();
    await running;
    expect(did).toEqual(["blow", "stop", "stop healed", "blow"]);
    expect(faults().filter((line) => line.includes("slow"))).toEqual(["slow begin zk1 -", "slow end zk1 {}"]);
    expect(nemesis.failures).toEqual([]);
  });

  it("go on behind a fault that failed, which is named", async () => {
    const bad: FaultKind = {
      begin: async () => {
        throw new Error("no");
      },
    };
    const { nemesis, did } = bench([lane("bad", ["clients"]), lane("blow", ["clients"])], { bad });
    await nemesis.run();
    expect(did).toEqual(["blow"]);
    expect(nemesis.failures).toEqual(["bad : no"]);
  });

  it("of servers wait until every key is granted anew after the fault before", async () => {
    const { nemesis, did, recorder } = bench(
      [lane("stop", ["servers"], { forMs: 1 }), lane("blow", ["servers"])],
      {},
      { keys: ["k1", "k2"] },
    );
    // This comes before the fault is over, so it counts for nothing.
    recorder.arrived(granted("w0#0", "k1", 1));
    recorder.arrived(granted("w0#0", "k2", 2));
    const pass = timeOfOurs();
    const running = nemesis.run();
    await pass(1_000);
    expect(did).toEqual(["stop", "stop healed"]);
    recorder.arrived(granted("w0#0", "k1", 3));
    await pass(10_000);
    expect(did).toEqual(["stop", "stop healed"]);
    recorder.arrived(granted("w0#0", "k2", 4));
    await pass(1_000);
    await running;
    expect(did).toEqual(["stop", "stop healed", "blow"]);
  });

  it("of servers say which key was not granted again, and break no more", async () => {
    const { nemesis, did, recorder } = bench(
      [lane("stop", ["servers"], { forMs: 1 }), lane("blow", ["servers"], { target: "leader" })],
      {},
      { keys: ["k1", "k2"], settleMs: 200 },
    );
    const pass = timeOfOurs();
    const running = nemesis.run();
    await pass(100);
    expect(did).toEqual(["stop", "stop healed"]);
    recorder.arrived(granted("w0#0", "k1", 3));
    await pass(1_000);
    await running;
    expect(did).toEqual(["stop", "stop healed"]);
    expect(nemesis.failures).toEqual([
      expect.stringContaining("blow leader: k2 was not granted within 200 ms"),
    ]);
  });

  it("draw for a fault what they drew in the whole plan, whichever others are left out", async () => {
    const drawn = async (plan: readonly PlannedFault[]): Promise<number[]> => {
      const numbers: number[] = [];
      const draws: FaultKind = {
        begin: async ({ random }) => {
          numbers.push(random.next());
          return { target: "", evidence: {} };
        },
      };
      await bench(plan, { draws }).nemesis.run();
      return numbers;
    };
    const whole = [1, 2, 3].map((number) => lane("draws", ["clients"], { number }));
    const [, , third] = await drawn(whole);
    expect(await drawn(whole.slice(2))).toEqual([third]);
    expect(await drawn(whole.slice(0, 1))).not.toEqual([third]);
  });
});
