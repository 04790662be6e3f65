import { expect, test } from "vitest";
import { startInside } from "./support/inside.js";

test("a small disk is filled to the last byte, freed, and unknown outside", async () => {
  await using inside = await startInside(`
    const { SmallDisk } = await load("engine/disk/small-disk.js");
    const { SweptFolder } = await load("engine/machine/swept-folder.js");
    const { appendFileSync, existsSync, writeFileSync } = await import("node:fs");
    const folder = new SweptFolder("test");
    const disk = await SmallDisk.mount(folder.path + "/disk", 1 << 20);
    const log = disk.path + "/log";
    writeFileSync(log, "x".repeat(4096));
    const filled = await disk.fill();
    let code = "none";
    try { appendFileSync(log, "x".repeat(4096)); } catch (error) { code = error.code; }
    say({ filled, code, left: await disk.freeBytes(), full: disk.full });
    say({ folder: folder.path });
    await disk.free();
    appendFileSync(log, "x".repeat(4096));
    say({ full: disk.full });
    await disk.unmount();
    await folder.remove();
    say({ gone: !existsSync(folder.path) });
    process.exit(0);
  `);
  const { filled, code, left, full } = await inside.said<{
    filled: number;
    code: string;
    left: number;
    full: boolean;
  }>();
  expect(filled).toBeGreaterThan(1_000_000);
  expect({ code, left, full }).toEqual({ code: "ENOSPC", left: 0, full: true });
  await inside.said();
  expect(await inside.said()).toEqual({ full: false });
  expect(await inside.said()).toEqual({ gone: true });
});

test("a Redis whose disk is full refuses writes and recovers; a ZooKeeper ends, and serves again with all it had", async () => {
  await using inside = await startInside(`
    const { eventually, startRedis, startZooKeeper } = await import("@holdfast/test-servers");
    const { Placement } = await load("engine/topologies/placement.js");
    const placement = await Placement.open({ diskBytes: 6 << 20 }, 2);
    const [one, two] = placement.disks;
    const redis = await startRedis({ config: { dir: one.path }, appendOnly: "everysec" });
    await redis.command("SET", "kept", "1");
    await one.fill();
    const code = async () => {
      try { await redis.command("SET", "b", "2"); return undefined; } catch (error) { return error.code; }
    };
    say({ refused: await eventually(code, { what: "a refusal", withinMs: 60_000 }) });
    await one.free();
    await eventually(async () => (await code()) === undefined, { what: "writes to go on", withinMs: 60_000 });
    say({ kept: await redis.command("GET", "kept") });
    await redis.stop();

    const zookeeper = await startZooKeeper({ config: { dataLogDir: two.path }, javaOptions: ["-Dzookeeper.preAllocSize=4"] });
    const { zookeeperLocks } = await import("@holdfast/zk-recipes");
    const locks = zookeeperLocks({ connect: zookeeper.connectString, sessionTimeoutMs: 10_000 });
    const lock = locks.mutex("/lock");
    await lock.withLock({ waitMs: 60_000 }, async () => {});
    const before = (await zookeeper.srvr()).zxid;
    await two.fill();
    // What is left of the last page of the log has to be written full.
    let over = false;
    const writing = (async () => {
      while (!over) await lock.withLock({ waitMs: 60_000 }, async () => {}).catch(() => {});
    })();
    await eventually(() => !zookeeper.running, { what: "ZooKeeper to end", withinMs: 60_000 });
    over = true;
    await two.free();
    await zookeeper.restart();
    await writing;
    const again = async () => {
      try { return await lock.withLock({ waitMs: 60_000 }, async () => "granted"); } catch { return undefined; }
    };
    say({ again: await eventually(again, { what: "a grant", withinMs: 60_000 }), kept: (await zookeeper.srvr()).zxid >= before });
    await locks.close();
    await zookeeper.stop();
    await placement.close();
    process.exit(0);
  `);
  expect(await inside.said()).toEqual({ refused: "MISCONF" });
  expect(await inside.said()).toEqual({ kept: "1" });
  expect(await inside.said()).toEqual({ again: "granted", kept: true });
});
