import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import {
  AddWatchMode,
  CreateFlags,
  type CreateRequest,
  errorCodes,
  multiFailure,
  type OpName,
  openAcl,
  Perms,
  type ResponseOf,
  validatePath,
  WatcherType,
} from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { share } from "../support/share.js";
import { RawClient, type Reply } from "./raw-client.js";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

let server: ZooKeeperNode;
let client: RawClient;

beforeAll(async () => {
  server = await startZooKeeper({ extendedTypes: true });
  client = await RawClient.open(server.port);
});

afterAll(async () => {
  client?.destroy();
  await server?.stop();
});

function node(path: string, flags: number = CreateFlags.persistent, data = "hi"): CreateRequest {
  return { path, data: text(data), acl: openAcl, flags };
}

async function ok<K extends OpName>(sent: Promise<Reply<K>>): Promise<ResponseOf<K>> {
  const { header, response } = await sent;
  expect(header.err).toBe(errorCodes.Ok);
  return response as ResponseOf<K>;
}

async function err<K extends OpName>(sent: Promise<Reply<K>>): Promise<number> {
  return (await sent).header.err;
}

describe("a real server", () => {
  test("grants a session, and takes it up again for a client that sends its id and password", async () => {
    expect(client.session.sessionId).not.toBe(0n);
    expect(client.session.password).toHaveLength(16);
    const first = await RawClient.open(server.port);
    const again = await RawClient.open(server.port, {
      sessionId: first.session.sessionId,
      password: first.session.password,
    });
    expect(again.session.sessionId).toBe(first.session.sessionId);
    await ok(again.send("closeSession", undefined));
    const late = await RawClient.open(server.port, {
      sessionId: first.session.sessionId,
      password: first.session.password,
    });
    expect(late.session).toMatchObject({ timeoutMs: 0, sessionId: 0n });
    for (const each of [first, again, late]) {
      each.destroy();
    }
  });

  test("creates, reads, changes and deletes", async () => {
    expect(await ok(client.send("create", node("/basic")))).toEqual({ path: "/basic" });
    const created = await client.send("create2", node("/basic/n-", CreateFlags.ephemeralSequential));
    expect(created.response?.path).toBe("/basic/n-0000000000");
    expect(created.response?.stat).toMatchObject({
      czxid: created.header.zxid,
      mzxid: created.header.zxid,
      pzxid: created.header.zxid,
      ephemeralOwner: client.session.sessionId,
      dataLength: 2,
    });
    const { path } = created.response ?? { path: "" };
    expect(await ok(client.send("getData", { path, watch: false }))).toEqual({
      data: text("hi"),
      stat: created.response?.stat,
    });
    expect(await ok(client.send("exists", { path, watch: false }))).toEqual({ stat: created.response?.stat });
    expect(await ok(client.send("getChildren", { path: "/basic", watch: false }))).toEqual({
      children: ["n-0000000000"],
    });
    const listed = await ok(client.send("getChildren2", { path: "/basic", watch: false }));
    expect(listed).toMatchObject({ children: ["n-0000000000"], stat: { numChildren: 1, cversion: 1 } });
    expect(await ok(client.send("getEphemerals", { prefix: null }))).toEqual({ ephemerals: [path] });
    expect(await ok(client.send("getAllChildrenNumber", { path: "/basic" }))).toEqual({ totalNumber: 1 });
    const changed = await ok(client.send("setData", { path, data: null, version: 0 }));
    expect(changed.stat).toMatchObject({ version: 1, dataLength: 0 });
    expect((await ok(client.send("getData", { path, watch: false }))).data).toBeNull();
    expect(await err(client.send("delete", { path, version: 0 }))).toBe(errorCodes.BadVersion);
    expect(await ok(client.send("delete", { path, version: 1 }))).toBeUndefined();
    expect(await err(client.send("exists", { path, watch: false }))).toBe(errorCodes.NoNode);
  });

  test("makes containers and TTL nodes", async () => {
    const container = await ok(client.send("createContainer", node("/container", CreateFlags.container)));
    expect(container).toMatchObject({ path: "/container", stat: { ephemeralOwner: 0n } });
    const ttl = await ok(client.send("createTTL", { ...node("/ttl", CreateFlags.ttl), ttlMs: 60_000n }));
    expect(ttl).toMatchObject({ path: "/ttl", stat: { ephemeralOwner: 0n } });
  });

  test("keeps ACLs and knows who asks", async () => {
    await ok(client.send("create", node("/acl")));
    const before = await ok(client.send("getACL", { path: "/acl" }));
    expect(before.acl).toEqual(openAcl);
    const acl = [
      ...openAcl,
      { perms: Perms.READ | Perms.WRITE, scheme: "digest", id: "u:MSvLz8GSVjB4cHMfSDKVGwlrJhg=" },
    ];
    expect((await ok(client.send("setACL", { path: "/acl", acl, version: 0 }))).stat.aversion).toBe(1);
    expect((await ok(client.send("getACL", { path: "/acl" }))).acl).toEqual(acl);
    await ok(client.send("auth", { type: 0, scheme: "digest", auth: text("u:p") }));
    expect((await ok(client.send("whoAmI", undefined))).clientInfo).toEqual(
      expect.arrayContaining([
        { authScheme: "ip", user: "127.0.0.1" },
        { authScheme: "digest", user: "u" },
      ]),
    );
    expect(await err(client.send("create", { ...node("/acl/none"), acl: null }))).toBe(errorCodes.InvalidACL);
  });

  test("answers ping and sync, and refuses a reconfiguration", async () => {
    await ok(client.send("ping", undefined));
    expect(await ok(client.send("sync", { path: "/any" }))).toEqual({ path: "/any" });
    const refused = client.send("reconfig", {
      joiningServers: null,
      leavingServers: "9",
      newMembers: null,
      curConfigId: -1n,
    });
    expect(await err(refused)).toBe(errorCodes.ReconfigDisabled);
  });

  test("applies a transaction, with create2 answered as create", async () => {
    const { results } = await ok(
      client.send("multi", {
        ops: [
          { op: "create", request: node("/multi") },
          { op: "create2", request: node("/multi/two") },
          { op: "createContainer", request: node("/multi/container", CreateFlags.container) },
          { op: "createTTL", request: { ...node("/multi/ttl", CreateFlags.ttl), ttlMs: 60_000n } },
          { op: "setData", request: { path: "/multi", data: text("x"), version: 0 } },
          { op: "check", request: { path: "/multi", version: 1 } },
          { op: "delete", request: { path: "/multi/two", version: 0 } },
        ],
      }),
    );
    expect(results.map(({ op }) => op)).toEqual([
      "create",
      "create",
      "create2",
      "create2",
      "setData",
      "check",
      "delete",
    ]);
    expect(results[1]).toEqual({ op: "create", path: "/multi/two" });
    expect(results[3]).toMatchObject({ path: "/multi/ttl", stat: { dataLength: 2 } });
    expect(await ok(client.send("multi", { ops: [] }))).toEqual({ results: [] });
  });

  test("says what stopped a transaction, under a header without an error", async () => {
    const failed = await ok(
      client.send("multi", {
        ops: [
          { op: "create", request: node("/multi-failed") },
          { op: "check", request: { path: "/nowhere", version: -1 } },
          { op: "delete", request: { path: "/multi-failed", version: -1 } },
        ],
      }),
    );
    expect(failed.results).toEqual([
      { op: "error", code: errorCodes.Ok },
      { op: "error", code: errorCodes.NoNode },
      { op: "error", code: errorCodes.RuntimeInconsistency },
    ]);
    expect(multiFailure(failed)).toEqual({ index: 1, code: errorCodes.NoNode });
    expect(await err(client.send("exists", { path: "/multi-failed", watch: false }))).toBe(errorCodes.NoNode);
  });

  test("answers each of several reads on its own", async () => {
    await ok(client.send("create", node("/reads")));
    await ok(client.send("create", node("/reads/child")));
    const { results } = await ok(
      client.send("multiRead", {
        ops: [
          { op: "getData", request: { path: "/reads", watch: false } },
          { op: "getData", request: { path: "/nowhere", watch: false } },
          { op: "getChildren", request: { path: "/reads", watch: false } },
        ],
      }),
    );
    expect(results).toEqual([
      { op: "getData", data: text("hi"), stat: expect.objectContaining({ numChildren: 1 }) },
      { op: "error", code: errorCodes.NoNode },
      { op: "getChildren", children: ["child"] },
    ]);
  });

  test("tells watchers, one-shot and persistent, before it answers the writer", async () => {
    const watcher = await RawClient.open(server.port);
    expect(await err(watcher.send("exists", { path: "/w", watch: true }))).toBe(errorCodes.NoNode);
    await ok(watcher.send("create", node("/w")));
    await ok(watcher.send("getData", { path: "/w", watch: true }));
    await ok(watcher.send("getChildren2", { path: "/w", watch: true }));
    await ok(watcher.send("setData", { path: "/w", data: null, version: -1 }));
    await ok(watcher.send("create", node("/w/c")));
    await ok(watcher.send("getData", { path: "/w/c", watch: true }));
    await ok(watcher.send("delete", { path: "/w/c", version: -1 }));
    const state = 3;
    expect(watcher.events).toEqual([
      { type: "created", state, path: "/w" },
      { type: "data-changed", state, path: "/w" },
      { type: "children-changed", state, path: "/w" },
      { type: "deleted", state, path: "/w/c" },
    ]);
    expect(
      await ok(watcher.send("addWatch", { path: "/p", mode: AddWatchMode.persistentRecursive })),
    ).toEqual({
      err: 0,
    });
    await ok(watcher.send("create", node("/p")));
    await ok(watcher.send("create", node("/p/q")));
    expect(watcher.events.slice(4).map(({ type, path }) => [type, path])).toEqual([
      ["created", "/p"],
      ["created", "/p/q"],
    ]);
    watcher.destroy();
  });

  test("forgets and restores watches on request", async () => {
    const watcher = await RawClient.open(server.port);
    const { header } = await watcher.send("create2", node("/again"));
    await ok(watcher.send("setData", { path: "/again", data: null, version: -1 }));
    await ok(
      watcher.send("setWatches", {
        relativeZxid: header.zxid,
        dataWatches: ["/again"],
        existWatches: ["/still-not"],
        childWatches: ["/again"],
      }),
    );
    expect(watcher.events).toEqual([{ type: "data-changed", state: 3, path: "/again" }]);
    await ok(watcher.send("checkWatches", { path: "/again", type: WatcherType.children }));
    await ok(watcher.send("removeWatches", { path: "/again", type: WatcherType.children }));
    expect(await err(watcher.send("removeWatches", { path: "/again", type: WatcherType.children }))).toBe(
      errorCodes.NoWatcher,
    );
    await ok(
      watcher.send("setWatches2", {
        relativeZxid: header.zxid,
        dataWatches: [],
        existWatches: [],
        childWatches: [],
        persistentWatches: ["/persistent"],
        persistentRecursiveWatches: [],
      }),
    );
    await ok(watcher.send("create", node("/persistent")));
    expect(watcher.events.slice(1)).toEqual([{ type: "created", state: 3, path: "/persistent" }]);
    watcher.destroy();
  });
});

describe("validatePath", () => {
  /** Whether the server accepts the texts as paths. `setData` checks that first, and changes nothing with this version. */
  async function accepted(paths: readonly string[]): Promise<boolean[]> {
    const codes = await Promise.all(
      paths.map((path) => err(client.send("setData", { path, data: null, version: 1_000_000 }))),
    );
    return codes.map((code) => code !== errorCodes.BadArguments);
  }

  function valid(path: string): boolean {
    try {
      validatePath(path);
      return true;
    } catch {
      return false;
    }
  }

  // Half a surrogate pair has no UTF-8 form and is sent as U+FFFD, which the server refuses as well.
  test("agrees with the server on every UTF-16 unit", async () => {
    const units = 0x10000;
    const count = share("UTF-16 units that the server is asked about", units / 8, units);
    const stride = units / count;
    const first = Math.floor(Math.random() * stride);
    const paths = Array.from({ length: count }, (_, at) => `/x${String.fromCharCode(first + at * stride)}x`);
    const differing: string[] = [];
    for (let at = 0; at < paths.length; at += 4096) {
      const some = paths.slice(at, at + 4096);
      const answers = await accepted(some);
      differing.push(...some.filter((path, i) => answers[i] !== valid(path)));
    }
    expect(differing.map((path) => JSON.stringify(path))).toEqual([]);
  });

  test("agrees with the server on where slashes and dots may be", async () => {
    const parts = ["/", ".", "a"];
    let paths = [""];
    for (let length = 1; length <= 6; length++) {
      paths = [
        ...paths,
        ...paths
          .filter((path) => path.length === length - 1)
          .flatMap((path) => parts.map((part) => path + part)),
      ];
    }
    expect(paths).toHaveLength(1093);
    const answers = await accepted(paths);
    expect(paths.filter((path, i) => answers[i] !== valid(path))).toEqual([]);
  });
});
