import { InvalidArgumentError } from "@holdfast/core";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActionRequest } from "../../src/index.js";
import { covers, parseRoot } from "../../src/zookeeper/roots.js";
import { zookeeperCollector } from "../../src/zookeeper/zookeeper-collector.js";
import { ours, Watched } from "./support.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

beforeAll(async () => {
  server = await startEmbeddedZooKeeper();
  locks = await ours(server.connectString, true);
  for (const path of ["/brokers", "/brokers/ids", "/locks", "/naive", "/secret", "/secret/lock"])
    server.operator.create(path);
});
afterAll(async () => {
  await locks.close();
  await server.stop();
});

const acts = ["force-release", "request-revoke", "evict-waiter", "clean-orphan"] as const;

/** Requests every action on one path, each with the confirmation that it may need. Returns all outcomes. */
async function attempts(
  watched: Watched,
  key: string,
  version: string,
  entry: string | null = null,
): Promise<Set<string>> {
  const outcomes = new Set<string>();
  for (const action of acts) {
    const request: ActionRequest = {
      ...{ action, key, entry, expectedVersion: version, dryRun: false },
      unknownLibrary: true,
    };
    outcomes.add((await watched.collector.act(request)).outcome);
  }
  return outcomes;
}

describe("a collector keeps to its roots", () => {
  it("an ephemeral registration of another service is no lock, is not shown, and is not deleted", async () => {
    await using watched = await Watched.start({ connect: server.connectString, roots: ["/"] });
    // As far as a node shows, this is what a broker's registration is: ephemeral, and without children.
    const held = await locks.naiveMutex("/brokers/ids/7").acquire();
    const lock = await locks.mutex("/locks/real").acquire();
    await watched.row("/locks/real", ({ state }) => state === "held");
    expect(watched.collector.get("/brokers/ids/7")).toBeUndefined();
    expect(await watched.collector.detail("/brokers/ids/7", { maxWaiters: 5 })).toBeNull();
    const [node] = server.nodes("/brokers/ids/7");
    const outcomes = await attempts(watched, "/brokers/ids/7", "7@?");
    for (const version of ["7", "idle:0"])
      for (const outcome of await attempts(watched, "/brokers/ids/7", version)) outcomes.add(outcome);
    expect([...outcomes].filter((each) => each === "done" || each === "would-do")).toEqual([]);
    expect(server.nodes("/brokers/ids/7")).toEqual([node]);
    expect(held.state).toBe("held");
    await Promise.all([held.release(), lock.release()]);
  });

  it("a double barrier is no lock, and its members are left alone, whether they wait or are inside", async () => {
    const key = "/locks/start";
    const member = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for (const path of [key, `${key}/${member}`]) server.operator.create(path);
    await using watched = await Watched.start({ connect: server.connectString, roots: ["/locks"] });
    const czxid = server.nodes(`${key}/${member}`)[0]?.czxid ?? 0n;
    // If this were a lock: its version without a holder, and its version with this member as the holder.
    const versions = ["", `${member}@0x${czxid.toString(16)}`];
    for (const version of versions) {
      expect(await watched.collector.detail(key, { maxWaiters: 5 })).toBeNull();
      const nodes = server.nodes(key);
      expect(await attempts(watched, key, version, member)).toEqual(new Set(["nothing-there"]));
      expect(server.nodes(key)).toEqual(nodes);
      if (version === "") server.operator.create(`${key}/ready`);
    }
  });

  it("an act on a node of no known library takes a confirmation, and a dry run says so", async () => {
    await using watched = await Watched.start({ connect: server.connectString, roots: ["/locks"] });
    server.operator.create("/locks/foreign");
    server.operator.create("/locks/foreign/lock-", { flags: CreateFlags.persistentSequential });
    await watched.row("/locks/foreign", ({ state }) => state === "held");
    const key = "/locks/foreign";
    for (const action of ["request-revoke", "force-release"] as const) {
      const { version = "" } = (await watched.collector.detail(key, { maxWaiters: 5 })) ?? {};
      const request = { action, key, entry: null, expectedVersion: version };
      const dry = await watched.collector.act({ ...request, dryRun: true });
      expect(dry).toMatchObject({ outcome: "would-do", unknownLibrary: true });
      const [, before] = server.nodes(key);
      expect((await watched.collector.act({ ...request, dryRun: false })).outcome).toBe("denied");
      expect(server.nodes(key)[1]).toEqual(before);
      const done = await watched.collector.act({ ...request, dryRun: false, unknownLibrary: true });
      expect(done.outcome).toBe("done");
    }
    expect(server.nodes(key)).toHaveLength(1);
  });

  it("what lies outside of the roots is neither read nor touched, however it is named", async () => {
    await using watched = await Watched.start({ connect: server.connectString, roots: ["/locks"] });
    const held = await locks.mutex("/secret/lock").acquire();
    for (const key of [
      "/secret/lock",
      "/secret",
      "/",
      "/lock",
      "/locks/../secret/lock",
      "/locks//x",
      "secret",
    ]) {
      expect(await watched.collector.detail(key, { maxWaiters: 5 }), key).toBeNull();
      expect(await attempts(watched, key, "x"), key).toEqual(new Set(["denied"]));
    }
    expect(held.state).toBe("held");
    await held.release();
  });

  it("a node below a root that is no lock is not read either", async () => {
    await using watched = await Watched.start({ connect: server.connectString, roots: ["/brokers"] });
    server.operator.create("/brokers/seqid");
    expect(await watched.collector.detail("/brokers/seqid", { maxWaiters: 5 })).toBeNull();
  });
});

describe("roots", () => {
  it.each([
    ["/locks", "", ["/locks", "/locks/a", "/locks/a/b"], ["/lock", "/locksmith", "/", "/a/locks"]],
    ["/", "", ["/", "/a", "/a/b"], ["", "a", "/a/", "/../a", "/a/./b"]],
    ["/", "/app", ["/app", "/app/a"], ["/", "/apple", "/other"]],
    ["/a/*/locks", "", ["/a/b/locks", "/a/b/locks/c"], ["/a", "/a/b", "/a/b/c", "/a/b/c/locks"]],
  ])("%s below chroot %j covers its paths alone", (root, chroot, inside, outside) => {
    const pattern = parseRoot(root, chroot);
    expect(inside.filter((path) => !covers(pattern, path))).toEqual([]);
    expect(outside.filter((path) => covers(pattern, path))).toEqual([]);
  });

  it.each([
    [{ path: "/", naive: true }, "naive: true must not be said of /"],
    [{ path: "/*", naive: true }, "naive: true must not be said of /"],
    [{ path: "/locks", naive: "yes" }, "naive must be true or false"],
    [{ path: "/locks", nave: true }, "did you mean naive"],
    [{ naive: true }, "is not a path"],
  ])("%j is refused in words", (root, message) => {
    const make = () => zookeeperCollector({ connect: "127.0.0.1:1", roots: [root as never] });
    expect(make).toThrow(InvalidArgumentError);
    expect(make).toThrow(message);
  });
});
