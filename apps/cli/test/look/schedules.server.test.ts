import type { LockProvider } from "@holdfast/core";
import { redisLocks } from "@holdfast/redis-recipes";
import { lastRuns, oncePer, type RunReport } from "@holdfast/schedules";
import { eventually, startEmbeddedZooKeeper, startRedis } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { describe, expect, onTestFinished, test } from "vitest";
import { lineOf, run, unsafeIn } from "./support.js";

const backends: {
  readonly [name: string]: () => Promise<{ readonly locks: LockProvider; readonly at: string[] }>;
} = {
  ZooKeeper: async () => {
    const server = await startEmbeddedZooKeeper();
    onTestFinished(() => server.stop());
    const { connectString } = server;
    return { locks: zookeeperLocks({ connect: connectString }), at: ["--zookeeper", connectString] };
  },
  Redis: async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    return { locks: redisLocks({ url: server.url }), at: ["--redis", server.url] };
  },
};

describe.each(Object.keys(backends))("holdfast ls --schedules on %s", (backend) => {
  test("shows the last run of each schedule: its due time, how it ended, where, and why it failed", async () => {
    const { locks, at } = await (backends[backend] as () => ReturnType<(typeof backends)[string]>)();
    onTestFinished(async () => void (await locks.close()));
    expect(await run(["ls", "--schedules", ...at])).toMatchObject({
      code: 0,
      out: "There is no schedule.\n",
    });

    const ran = new Set<string>();
    const options = { every: 50, by: "host-1/17", onRun: ({ name }: RunReport) => void ran.add(name) };
    const fine = oncePer(locks, "fine", options, () => {});
    const broken = oncePer(locks, "broken", options, () => {
      throw new Error("no paper\u001b[2J");
    });
    const later = oncePer(locks, "later", { ...options, every: 10 * 24 * 3_600_000 }, () => {});
    // The three schedules go on side by side, and any of them may be the last to make its record.
    const both = (): boolean => ran.has("fine") && ran.has("broken");
    await eventually(async () => both() && (await lastRuns(locks)).has("later"), {
      what: "runs of two schedules, and the record of the third",
    });
    await Promise.all([fine.stop(), broken.stop(), later.stop()]);

    const { out } = await run(["ls", "--schedules", ...at]);
    expect(unsafeIn(out)).toEqual([]);
    expect(lineOf(out, "fine")).toMatch(/^fine +done +\d{4}-\d\d-\d\dT[\d:.]+Z .*host-1\/17 +-/);
    expect(lineOf(out, "broken")).toMatch(/failed .*no paper\\u\{1b\}\[2J/);
    expect(lineOf(out, "later")).toMatch(/none yet/);
    const { out: json } = await run(["ls", "brok*", "--schedules", "--json", ...at]);
    expect(JSON.parse(json)).toMatchObject({
      schedules: [{ name: "broken", last: { state: "failed", attempt: 1, by: "host-1/17" } }],
    });
  });

  test("leaves out a schedule whose record holds something else, and lists the others", async () => {
    const { locks, at } = await (backends[backend] as () => ReturnType<(typeof backends)[string]>)();
    onTestFinished(async () => void (await locks.close()));
    const fine = { v: 1, due: 0, state: "done", claim: "c", attempt: 1, by: "host-1/17", at: 0, ended: 5 };
    const records: { readonly [name: string]: object } = {
      "no-replica": { ...fine, by: undefined },
      "no-state": { ...fine, state: "\u001b]0;x\u0007" },
      "no-time": { ...fine, due: 9e15 },
      "no-end": { ...fine, ended: "\u001b[2J" },
      fine,
    };
    await locks.record("schedules").replace(null, JSON.stringify(Object.keys(records)));
    for (const [name, record] of Object.entries(records))
      await locks.record(`schedules/${name}`).replace(null, JSON.stringify(record));
    const { code, out, err } = await run(["ls", "--schedules", ...at]);
    expect([code, err, unsafeIn(out)]).toEqual([0, "", []]);
    expect(out).toMatch(/^SCHEDULE .*\nfine +done .*\n$/);
  });
});
