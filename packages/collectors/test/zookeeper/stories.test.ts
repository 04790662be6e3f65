import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ours, Watched } from "./support.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

beforeAll(async () => {
  server = await startEmbeddedZooKeeper();
  locks = await ours(server.connectString, true);
});
afterAll(async () => {
  await locks.close();
  await server.stop();
});

const options = () => ({ connect: server.connectString, roots: ["/stories"] });

describe("a collector that identifies holders", () => {
  it("reports who a lone holder is, and again at the end, with the token", async () => {
    await using watched = await Watched.start({ ...options(), identifyHolders: true });
    const key = "/stories/lone";
    const handle = await locks.mutex(key).acquire({ label: "billing" });
    await eventually(() => watched.of("identified", key).length === 1, { what: "its holder identified" });
    const [granted] = watched.of("granted", key);
    expect(granted).toMatchObject({ waitedMs: 0 });
    const owner = {
      identity: { label: "billing", pid: process.pid },
      token: `0x${handle.token?.toString(16)}`,
    };
    expect(watched.of("identified", key)[0]).toMatchObject({ owner });
    await handle.release();
    await eventually(() => watched.of("released", key).length === 1, { what: "its end" });
    expect(watched.of("released", key)[0]).toMatchObject({ owner, token: owner.token });
    // A node that its holder deleted looks the same as one whose session has ended.
    expect(watched.of("released", key)[0]).not.toHaveProperty("end");
  });

  it("reports how long the next holder had waited, by the time at which its node was made", async () => {
    await using watched = await Watched.start({ ...options(), identifyHolders: true });
    const key = "/stories/handed";
    const first = await locks.mutex(key).acquire();
    const next = locks.mutex(key).acquire();
    await watched.row(key, ({ oldestWait }) => oldestWait.atMs !== null);
    await first.release();
    await (await next).release();
    await eventually(() => watched.of("granted", key).length === 2, { what: "both grants" });
    const [, second] = watched.of("granted", key);
    expect(second?.type === "granted" && second.waitedMs !== undefined && second.waitedMs >= 0).toBe(true);
  });
});

describe("a collector that finds very many holds at its start", () => {
  it("reads 5,000 of them for their owners, and any other once it is looked at", async () => {
    const count = 5_020;
    server.operator.create("/many");
    for (let at = 0; at < count; at++) {
      server.operator.create(`/many/${at}`);
      server.operator.create(`/many/${at}/_c_0b5d6f3a-71c2-4e8f-9a40-${String(at).padStart(12, "0")}-lock-`, {
        flags: CreateFlags.persistentSequential,
      });
    }
    const identified = (): readonly string[] =>
      watched.events.flatMap((event) => (event.type === "identified" ? [event.key] : []));
    await using watched = await Watched.start({ ...options(), roots: ["/many"], identifyHolders: true });
    await eventually(() => identified().length >= 5_000, { what: "5,000 owners", withinMs: 60_000 });
    await watched.collector.compareNow();
    expect(identified().length).toBe(5_000);
    const known = new Set(identified());
    const other = Array.from({ length: count }, (_, at) => `/many/${at}`).find((key) => !known.has(key));
    const looking = watched.collector.attend([other ?? ""]);
    await eventually(() => identified().includes(other ?? ""), { what: "the owner of a lock on screen" });
    looking.end();
  });
});

describe("a collector that knows by `earlierSight` what an earlier process has seen", () => {
  it("takes the age of a hold over where the node is the same, and no other's", async () => {
    const key = "/stories/old";
    const other = "/stories/other";
    const handle = await locks.mutex(key).acquire();
    const second = await locks.mutex(other).acquire();
    const asked: string[] = [];
    await using before = await Watched.start(options());
    const entry = before.collector.get(key)?.holders[0]?.entry;
    await using watched = await Watched.start({
      ...options(),
      earlierSight: (path, name) => {
        asked.push(path);
        return path === key && name === entry ? { atMs: 1_000, token: null } : undefined;
      },
    });
    expect(asked.sort()).toEqual([key, other].sort());
    const since = { atMs: 1_000, provenance: "at-least" };
    expect(watched.collector.get(key)?.oldestHold).toEqual(since);
    expect(watched.of("found", key)).toMatchObject([{ entry, since }]);
    expect(watched.collector.get(other)?.oldestHold.atMs).toBeGreaterThan(1_000);
    await Promise.all([handle.release(), second.release()]);
  });
});
