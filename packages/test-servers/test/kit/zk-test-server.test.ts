import { CreateFlags } from "@holdfast/zk-protocol";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, TestServerError, zkTestServer } from "../../src/index.js";
import { WireClient } from "../support/wire-client.js";

describe("with the hooks of vitest", () => {
  const zk = zkTestServer({ hooks: { beforeAll, afterAll, afterEach }, paths: ["/app/locks", "/app/other"] });
  let portBefore = 0;
  // Outside of hooks and tests the server does not exist yet.
  const tooEarly = (() => {
    try {
      return zk.connectString;
    } catch (error) {
      return error;
    }
  })();

  test("it runs during the suite, with the paths that were asked for", async () => {
    expect(tooEarly).toBeInstanceOf(TestServerError);
    expect(String(tooEarly)).toContain("inside of a test or of a hook");
    const client = await WireClient.connect(zk.connectString);
    expect(await client.exists("/app/locks")).toBe(true);
    expect(zk.describe()).toBe("/ persistent\n/app persistent\n/app/locks persistent\n/app/other persistent");
    await client.close();
    portBefore = zk.port;
    zk.faults.on({ op: "exists", times: Number.POSITIVE_INFINITY }, { do: "drop" });
    zk.faults.refuseConnections();
    zk.pause();
  });

  test("the faults and the pause of a test are over in the next, on the same server", async () => {
    expect(zk.port).toBe(portBefore);
    const client = await WireClient.connect(zk.connectString);
    expect(await client.exists("/app")).toBe(true);
    await client.close();
  });

  test("reset leaves nothing but its paths, at the same port", async () => {
    const client = await WireClient.connect(zk.connectString);
    await client.create("/app/locks/left");
    await zk.reset();
    await client.closed;
    expect(zk.port).toBe(portBefore);
    expect(zk.sessions()).toEqual([]);
    expect(zk.nodes("/app").map(({ path }) => path)).toEqual(["/app", "/app/locks", "/app/other"]);
  });
});

describe("without hooks", () => {
  test("`await using` ends it, and with it its connections", async () => {
    let client: WireClient;
    let where = "";
    {
      await using zk = await zkTestServer();
      where = zk.connectString;
      client = await WireClient.connect(where);
    }
    await client.closed;
    await expect(WireClient.connect(where)).rejects.toThrow();
  });

  test("a stopped one says so, and can be stopped once more", async () => {
    const zk = await zkTestServer();
    await zk.stop();
    await zk.stop();
    expect(() => zk.connectString).toThrow("was stopped");
  });

  test("the one session, a session by id, or the owner of a node can be ended", async () => {
    await using zk = await zkTestServer();
    expect(() => zk.expireSession()).toThrow("not exactly one session; there are 0");
    const one = await WireClient.connect(zk.connectString);
    zk.expireSession();
    await one.closed;
    const owner = await WireClient.connect(zk.connectString);
    const other = await WireClient.connect(zk.connectString);
    await owner.create("/mine", CreateFlags.ephemeral);
    expect(() => zk.expireSession()).toThrow("not exactly one session; there are 2");
    expect(() => zk.expireSession("/nobody")).toThrow("no session that owns /nobody");
    zk.expireSession("/mine");
    await owner.closed;
    expect(await other.exists("/mine")).toBe(false);
    zk.expireSession(other.session.sessionId);
    await other.closed;
    expect(zk.sessions()).toEqual([]);
  });

  test("a dropped connection leaves the session and its nodes", async () => {
    await using zk = await zkTestServer();
    const client = await WireClient.connect(zk.connectString);
    await client.create("/mine", CreateFlags.ephemeral);
    zk.dropConnection("/mine");
    await client.closed;
    await eventually(() => zk.sessions().every(({ connected }) => !connected), { what: "no connection" });
    expect(() => zk.dropConnection()).toThrow("has no connection");
    expect(zk.nodes("/mine")).toHaveLength(1);
  });

  test("sequences, pauses and restarts work as on the server itself", async () => {
    await using zk = await zkTestServer({ paths: ["/q"] });
    const client = await WireClient.connect(zk.connectString);
    zk.setSequence("/q", 41);
    expect(await client.create("/q/n-", CreateFlags.persistentSequential)).toBe("/q/n-0000000041");
    zk.pause({ clock: "frozen" });
    const waiting = client.exists("/q");
    zk.resume();
    expect(await waiting).toBe(true);
    await zk.restart();
    expect(zk.nodes("/q").map(({ path }) => path)).toEqual(["/q", "/q/n-0000000041"]);
  });

  test("a path that is none is refused at once", () => {
    for (const path of ["app", "/", "/app/", "/a//b"]) {
      expect(() => zkTestServer({ paths: [path] })).toThrow(RangeError);
    }
  });
});
