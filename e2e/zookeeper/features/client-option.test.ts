import {
  eventually,
  expireSession,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import zookeeper, { type Client } from "node-zookeeper-client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator } from "./operator.js";
import { rejection, thrown } from "./rejection.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());

function ownClient(connect = server.connectString): Client {
  const client = zookeeper.createClient(connect, { sessionTimeout: 6_000 });
  onTestFinished(() => client.close());
  return client;
}

function over(client: Client): ZooKeeperLocks {
  const locks = zookeeperLocks({ client });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  return locks;
}

const connectedState = (client: Client): boolean => client.getState() === zookeeper.State.SYNC_CONNECTED;

/** Sends an ordinary request through the user's own client. */
function exists(client: Client, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    client.exists(path, (error, stat) =>
      error ? reject(error) : resolve(stat !== null && stat !== undefined),
    );
  });
}

describe("a client of the user's own", () => {
  it.each(["before", "after"])(
    "that is connected %s it is given works, and is not closed by us",
    async (when) => {
      const client = ownClient();
      if (when === "before") {
        client.connect();
        await eventually(() => connectedState(client), { what: "the client to connect" });
      }
      const locks = over(client);
      if (when === "after") client.connect();
      await locks.ready();
      const path = `/own-client/${when}`;
      const other = await connected(server.connectString);
      const handle = await locks.mutex(path).acquire();
      expect(await other.mutex(path).tryAcquire()).toBeNull();
      const waiting = other.mutex(path).acquire();
      const { held } = await other.mutex(path).inspect();
      expect(held[0]?.token).toBe(handle.token);
      // The node belongs to the client's session.
      const operator = await Operator.connect(server.connectString);
      const { stat } = await operator.read(held[0]?.backendId as string);
      expect(BigInt.asUintN(64, stat.ephemeralOwner)).toBe(client.getSessionId().readBigUInt64BE());
      await handle.release();
      await (await waiting).release();
      await locks.close();
      expect(connectedState(client)).toBe(true);
      expect(await exists(client, "/own-client")).toBe(true);
      const again = over(client);
      expect(await (await again.mutex(path).acquire()).release()).toBe("released");
    },
  );

  it("goes on serving its own requests and watches beside ours", async () => {
    const client = ownClient();
    client.connect();
    const locks = over(client);
    await locks.ready();
    const operator = await Operator.connect(server.connectString);
    await operator.create("/beside");
    const changes: string[] = [];
    await new Promise<void>((resolve, reject) => {
      client.getData(
        "/beside",
        (event) => changes.push(event.getName()),
        (error) => (error ? reject(error) : resolve()),
      );
    });
    const handle = await locks.mutex("/beside/lock").acquire();
    await operator.write("/beside", "changed");
    await eventually(() => changes.length > 0, { what: "the client's own watch" });
    expect(changes).toEqual(["NODE_DATA_CHANGED"]);
    await handle.release();
  });

  it("whose session ends is no more use: acquires reject at once and say what to do", async () => {
    const proxy = await startZooKeeperProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const client = ownClient(proxy.connectString);
    client.connect();
    const locks = over(client);
    await locks.ready();
    const handle = await locks.mutex("/own-client/ended").acquire();
    const other = await connected(server.connectString);
    const waiting = rejection(() => locks.mutex("/own-client/ended").acquire({ waitMs: 20_000 }));
    await eventually(async () => (await other.mutex("/own-client/ended").inspect()).pendingTotal === 1, {
      what: "the waiter",
    });
    const session = proxy.sessions.at(-1);
    await expireSession({
      connectString: server.connectString,
      sessionId: session?.sessionId as bigint,
      password: session?.password as Uint8Array,
    });
    await eventually(() => handle.state === "lost", { what: "the loss" });
    const { error: waiterError } = await waiting;
    expect(waiterError).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(locks.state).toBe("lost");
    for (const work of [
      () => locks.mutex("/own-client/ended").acquire(),
      () => locks.mutex("/own-client/ended").tryAcquire(),
      () => locks.mutex("/own-client/ended").inspect(),
      () => locks.ready(),
    ]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
      expect(error.message).toMatch(/make a new client and a new provider, or give option connect/);
      expect(tookMs).toBeLessThan(5_000);
    }
    await using _ = await other.mutex("/own-client/ended").acquire({ waitMs: 5_000 });
  });

  it("serves one provider at a time", async () => {
    const client = ownClient();
    client.connect();
    const locks = over(client);
    await locks.ready();
    const error = thrown(() => zookeeperLocks({ client }));
    expect(error).toMatchObject({ code: "HF_INVALID_ARGUMENT" });
    expect(error.message).toContain("in use by another provider");
    await locks.close();
    await over(client).close();
  });
});
