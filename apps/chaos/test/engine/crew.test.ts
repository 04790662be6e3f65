import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunClock } from "../../src/engine/clock.js";
import { Crew, type CrewOptions, type Worker } from "../../src/engine/crew.js";
import { Recorder } from "../../src/engine/recorder.js";
import type { WorkerGroup } from "../../src/engine/scenario.js";
import { Tally } from "../../src/engine/tally.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";
import type { WorkerProgram } from "../../src/engine/worker-process.js";
import { HistoryBuilder } from "../../src/history/builder.js";
import type { HistoryRecord, WorkerRecord } from "../../src/history/record.js";
import { fakeWorker } from "./fake-worker.js";

const group: WorkerGroup = { name: "w", count: 2, recipe: "fake", keys: ["k1"], holdMs: [1, 1] };
const withoutServers = {
  link: async () => ({
    addresses: { kind: "none" },
    proxies: [],
    session: () => null,
    close: async () => {},
  }),
} as unknown as ServerSet;

let folder: string;
let crew: Crew;
let tally: Tally;
let records: HistoryRecord[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crew-"));
  tally = new Tally();
  records = [];
});
afterEach(async () => {
  await crew?.close();
  rmSync(folder, { recursive: true });
});

async function gather(
  program: WorkerProgram = fakeWorker(),
  { aborted, endsWithinMs = 30_000 }: Pick<CrewOptions, "aborted" | "endsWithinMs"> = {},
): Promise<Worker> {
  const recorder = new Recorder(join(folder, "history.jsonl"), new RunClock());
  recorder.listen((record) => {
    records.push(record);
    tally.see(record);
  });
  const keys = [{ id: "k1", name: "k1", kind: "mutex", backend: "zookeeper", leaseMs: 1_000 }] as const;
  crew = await Crew.gather({
    groups: [group],
    keys,
    set: withoutServers,
    recorder,
    seed: 1,
    resource: null,
    logFolder: folder,
    endsWithinMs,
    ...(aborted === undefined ? {} : { aborted }),
    programOf: async () => program,
  });
  return crew.workers[0] as Worker;
}

const states = (name: string): string[] =>
  records
    .filter((record): record is WorkerRecord => record.type === "worker" && record.p.startsWith(`${name}#`))
    .map(({ p, f }) => `${p} ${f}`);
const grantsOf = (p: string): number => records.filter((each) => each.type === "ok" && each.p === p).length;
const more = (p: string): Promise<boolean> => {
  const before = grantsOf(p);
  return tally.until(() => grantsOf(p) > before + 3, { withinMs: 10_000 });
};

describe("a crew", () => {
  it("works from start to stop, and says that all workers ended", async () => {
    const worker = await gather();
    expect(grantsOf(worker.p)).toBe(0);
    crew.start();
    expect(await more("w0#0")).toBe(true);
    expect(await crew.stop(10_000)).toEqual({ late: [], killed: [] });
    expect([states("w0"), states("w1")]).toEqual([
      ["w0#0 start", "w0#0 exit"],
      ["w1#0 start", "w1#0 exit"],
    ]);
  });

  it("has read all that a worker said before it stands still", async () => {
    const worker = await gather();
    crew.start();
    await more(worker.p);
    await crew.pause(worker);
    expect(worker.process.standsStill()).toBe(true);
    const said = grantsOf(worker.p);
    expect(await more("w1#0")).toBe(true);
    expect(grantsOf(worker.p)).toBe(said);
    crew.resume(worker);
    expect(await more(worker.p)).toBe(true);
    expect(states("w0")).toEqual(["w0#0 start", "w0#0 paused", "w0#0 resumed"]);
  });

  it("breaks when a worker is a child of the command, and goes on while the command is stopped", async () => {
    const { command, args } = fakeWorker();
    const worker = await gather({ command: "/bin/sh", args: ["-c", '"$@"; :', "sh", command, ...args] });
    crew.start();
    await more(worker.p);
    await crew.pause(worker);
    await expect(crew.broken).rejects.toThrow("w0#0 went on while it was stopped");
  });

  it("takes what the next incarnation says of a worker that was killed while it stood still", async () => {
    const worker = await gather();
    crew.start();
    await more(worker.p);
    await crew.pause(worker);
    await crew.kill(worker);
    await crew.restart(worker);
    expect(await Promise.race([more("w0#1"), crew.broken])).toBe(true);
  });

  it("waits for those in whose way others stand, as long as the lock changes hands", async () => {
    const [, text = ""] = fakeWorker().args;
    const slow = text.replace(
      'clearInterval(timer); say({ say: "done" }); process.exit(0);',
      'setTimeout(() => { clearInterval(timer); say({ say: "done" }); process.exit(0); }, 1_500);',
    );
    expect(slow).not.toBe(text);
    await gather({ ...fakeWorker(), args: ["-e", slow] });
    crew.start();
    // The workers are slow to take turns on a busy machine, so here the lock changes hands whenever the crew asks.
    expect(await crew.stop(500, () => performance.now())).toEqual({ late: [], killed: [] });
  });

  it("gives up workers that are not ready when the run is aborted", async () => {
    const aborted = Promise.reject(new Error("interrupted"));
    const never = fakeWorker("return;");
    await expect(gather(never, { aborted })).rejects.toThrow("interrupted");
  });

  it("stamps a kill before it, has read everything when it is done, and starts the next incarnation working", async () => {
    const worker = await gather();
    crew.start();
    await more(worker.p);
    await crew.kill(worker);
    expect(worker.process.running).toBe(false);
    const said = records.filter((record) => "p" in record && record.p === "w0#0").length;
    await crew.restart(worker);
    expect(await more("w0#1")).toBe(true);
    expect(records.filter((record) => "p" in record && record.p === "w0#0").length).toBe(said);
    expect(states("w0")).toEqual(["w0#0 start", "w0#0 killed", "w0#1 start"]);
    // Late records of the killed worker must not be holds that go on.
    const builder = new HistoryBuilder();
    builder.add({
      i: 0,
      t: 0,
      type: "meta",
      v: 1,
      run: "r",
      seed: 1,
      scenario: "T",
      versions: {},
      capabilities: [],
      keys: { k1: { kind: "mutex", backend: "zookeeper", leaseMs: 1 } },
    });
    for (const record of records) builder.add({ ...record, i: record.i + 1 });
    const holds = builder.build().keys.get("k1")?.holds ?? [];
    const ofTheKilled = holds.filter(({ p }) => p === "w0#0");
    expect(ofTheKilled.length).toBeGreaterThan(0);
    expect(ofTheKilled.every(({ to }) => Number.isFinite(to))).toBe(true);
  });

  it("breaks when a worker ends that was not killed", async () => {
    const worker = await gather();
    process.kill(worker.process.pid, "SIGKILL");
    await expect(crew.broken).rejects.toThrow("w0#0 ended by itself with SIGKILL");
  });

  it("breaks when a worker says that it cannot go on, or something that is not its own", async () => {
    await expect(
      gather(fakeWorker('say({ say: "failed", error: "no such recipe" }); return;')),
    ).rejects.toThrow(/w\d#0: no such recipe/);
    for (const line of ["hello", "null", "42"]) {
      await expect(gather(fakeWorker(`writeSync(1, "${line}\\n");`))).rejects.toThrow(
        `not a line with one JSON object: ${line}`,
      );
    }
    const foreign = fakeWorker('say({ t: 1, type: "fault", p, f: "zk.kill", phase: "begin" });');
    await expect(gather(foreign)).rejects.toThrow("not its own");
    const another = fakeWorker('say({ t: 1, type: "event", p: "w9#0", f: "lost", key });');
    await expect(gather(another)).rejects.toThrow("not its own");
  });

  it("ends the waits of those who do not finish by themselves, and names them", async () => {
    const stuck = fakeWorker();
    const [, text = ""] = stuck.args;
    const late = { ...stuck, args: ["-e", text.replace('word.do === "stop"', 'word.do === "abort"')] };
    await gather(late);
    crew.start();
    expect(await crew.stop(200)).toEqual({ late: ["w0#0", "w1#0"], killed: [] });
    expect(states("w0").at(-1)).toBe("w0#0 exit");
  });

  it("ends a worker that has said done and runs on", async () => {
    const [, text = ""] = fakeWorker().args;
    const worker = { ...fakeWorker(), args: ["-e", text.replace("process.exit(0);", "")] };
    await gather(worker, { endsWithinMs: 200 });
    crew.start();
    expect(await crew.stop(30_000)).toEqual({ late: [], killed: ["w0#0", "w1#0"] });
    expect(states("w0")).toEqual(["w0#0 start", "w0#0 killed"]);
  });

  it("starts no further incarnation once it stops", async () => {
    const worker = await gather();
    crew.start();
    await crew.kill(worker);
    const back = crew.restart(worker).then(
      () => "started",
      (error: Error) => error.message,
    );
    await crew.close();
    expect(await back).toBe("w0#1 is not started: the crew stops");
    expect(worker.process.running).toBe(false);
  });

  it("takes the half line at which a worker was killed for no word of its", async () => {
    const half = `writeSync(1, '{"t":1'); writeSync(2, "half a line"); for (;;);`;
    const worker = await gather(
      fakeWorker(`if (p === "w0#0") setInterval(() => { if (op > 10) { ${half} } }, 1);`),
    );
    crew.start();
    await expect.poll(() => worker.process.logTail(), { timeout: 10_000 }).toContain("half a line");
    await crew.kill(worker);
    let broken = false;
    crew.broken.catch(() => {
      broken = true;
    });
    expect(await more("w1#0")).toBe(true);
    expect(broken).toBe(false);
  });
});
