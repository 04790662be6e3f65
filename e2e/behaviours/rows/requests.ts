import { eventually } from "@holdfast/test-servers";
import { describe, expect, it } from "vitest";
import { type Client, childCount, type Site } from "../site.js";

function requestsOf(client: Client, op: string, path: string): number {
  return client.link.trace.filter(
    (entry) => entry.kind === "request" && entry.op === op && entry.path?.startsWith(path) === true,
  ).length;
}

/** 63: deletes that are repeated until they are done. */
export function deleteRows(site: Site): void {
  it.each([{}, { namespace: "team" }])(
    "63: a release whose delete gets lost is repeated on the next connection, with %j",
    async (options) => {
      const client = await site.client(options);
      const operator = await site.operator();
      const path = site.path();
      const real = options.namespace === undefined ? path : `/team${path}`;
      const handle = await client.locks.mutex(path).acquire();
      const lost = client.link.faults.on({ op: "delete" }, { do: "close" });
      expect(await handle.release()).toBe("released");
      expect(lost.hits).toHaveLength(1);
      expect(await operator.children(real)).toEqual([]);
      expect(requestsOf(client, "delete", real)).toBe(2);
    },
  );

  it.each([{}, { namespace: "team" }])(
    "63: a release whose session ends is over with it, and the next acquire stands behind nothing, with %j",
    async (options) => {
      const client = await site.client(options);
      const path = site.path();
      const handle = await client.locks.mutex(path).acquire();
      client.link.faults.on({ op: "delete" }, { do: "expire" });
      expect(await handle.release()).toBe("lost");
      const next = await client.locks.mutex(path).acquire({ waitMs: 10_000 });
      expect(next.token).toBeGreaterThan(handle.token as bigint);
      expect(await next.release()).toBe("released");
    },
  );

  it("63: a release that no server hears before the session runs out ends by then, and the server does the rest", async () => {
    const client = await site.client({ sessionTimeoutMs: 1_500 });
    const operator = await site.operator();
    const path = site.path();
    const handle = await client.locks.mutex(path).acquire();
    const cutAtMs = performance.now();
    await client.link.setMode("hole");
    expect(await handle.release()).toBe("lost");
    expect(performance.now() - cutAtMs).toBeLessThanOrEqual(client.session.timeoutMs + 2_000);
    await client.link.setMode("ok");
    const next = await client.locks.mutex(path).acquire({ waitMs: 10_000 });
    expect(await operator.children(path)).toHaveLength(1);
    expect(await next.release()).toBe("released");
  });

  it("63: a delete that finds no node is not repeated, not even after a reconnect", async () => {
    const client = await site.client();
    const operator = await site.operator();
    const path = site.path();
    const handle = await client.locks.mutex(path).acquire();
    const node = await operator.onlyChild(path);
    client.link.faults.on({ op: "delete", path: node }, { do: "run", call: () => operator.delete(node) });
    expect(await handle.release()).toBe("lost");
    let back = 0;
    client.locks.events.on("session-state", ({ state }) => {
      if (state === "connected") back += 1;
    });
    client.link.resetAll();
    await eventually(() => back === 1, { what: "the next connection" });
    const other = await client.locks.mutex(`${path}/other`).acquire();
    expect(await other.release()).toBe("released");
    expect(requestsOf(client, "delete", node)).toBe(1);
  });
}

/** 64: creates whose answer is lost. */
export function createRows(site: Site): void {
  it("64: a node that a create with a lost answer has made is taken up, not made again", async () => {
    const client = await site.client();
    const operator = await site.operator();
    const path = await site.madePath(operator);
    client.link.reset();
    const lost = client.link.faults.on({ op: "create2" }, { do: "close", when: "applied" });
    const handle = await client.locks.mutex(path).acquire({ waitMs: 10_000 });
    expect(lost.hits).toHaveLength(1);
    const node = await operator.onlyChild(path);
    expect((await operator.read(node)).stat.czxid).toBe(handle.token);
    expect(requestsOf(client, "create2", path)).toBe(1);
    expect(await handle.release()).toBe("released");
    expect(await operator.children(path)).toEqual([]);
  });

  it("64: a node that a dead session's create has made is never taken for one's own, while it is still there", async () => {
    // The client gives this session up some seconds before the server does. In that time it has to get another one.
    const client = await site.client({ sessionTimeoutMs: 4_000 });
    const operator = await site.operator();
    const path = await site.madePath(operator);
    const dead = client.session;
    const states: string[] = [];
    client.locks.events.on("session-state", ({ state }) => states.push(state));
    // The server gets the client's frames, but the client gets none. So the server keeps the session for longer than the client
    // may count on it.
    await client.link.setMode("hole-down");
    // The request that closes the dead session as soon as contact is back is held back, too.
    const goodbye = client.link.holdRequest({ op: "closeSession" });
    let granted = false;
    const acquired = client.locks
      .mutex(path)
      .acquire({ waitMs: 20_000 })
      .then((handle) => {
        granted = true;
        return handle;
      });
    const [first] = await childCount(operator, path, 1);
    const deadNode = `${path}/${first}`;
    expect((await operator.read(deadNode)).stat.ephemeralOwner).toBe(dead.sessionId);
    await eventually(() => states.includes("lost"), { what: "the session to be given up", everyMs: 2 });
    await client.link.setMode("ok");
    // The second node belongs to the new session and stands behind the dead session's node.
    const [, second] = (await childCount(operator, path, 2)).sort((a, b) => sequence(a) - sequence(b));
    const { stat } = await operator.read(`${path}/${second}`);
    expect(stat.ephemeralOwner).not.toBe(dead.sessionId);
    expect(await operator.exists(deadNode)).toBe(true);
    expect(granted).toBe(false);
    // Now the dead session may be ended.
    goodbye.release();
    const handle = await acquired;
    expect(handle.token).toBe(stat.czxid);
    expect(await operator.exists(deadNode)).toBe(false);
    expect(await handle.release()).toBe("released");
  });

  describe("a create that no caller waits for any more", () => {
    it("64: leaves no node when the caller aborts before its answer is known to be lost", async () => {
      const client = await site.client();
      const operator = await site.operator();
      const path = await site.madePath(operator);
      const made = client.link.faults.on({ op: "create2" }, { do: "hold", at: "reply" });
      const abort = new AbortController();
      const reason = new Error("no patience");
      const acquired = client.locks.mutex(path).acquire({ signal: abort.signal });
      const rejected = expect(acquired).rejects.toBe(reason);
      await made.reached();
      await childCount(operator, path, 1);
      abort.abort(reason);
      client.link.resetAll();
      made.release();
      await rejected;
      await childCount(operator, path, 0);
      expect(client.locks.state).toBe("connected");
    });

    it("64: leaves no node when the wait ends during the outage that took its answer", async () => {
      const client = await site.client({ sessionTimeoutMs: 20_000 });
      const operator = await site.operator();
      const path = await site.madePath(operator);
      await client.link.setMode("refuse");
      const lost = client.link.faults.on({ op: "create2" }, { do: "close", when: "applied" });
      // The server has to apply the create within this wait.
      await expect(client.locks.mutex(path).acquire({ waitMs: 2_000 })).rejects.toMatchObject({
        retryable: true,
      });
      expect(lost.hits).toHaveLength(1);
      expect(await operator.children(path)).toHaveLength(1);
      const { sessionId } = client.session;
      await client.link.setMode("ok");
      await childCount(operator, path, 0);
      // A delete has removed the node, not the end of the session.
      await client.locks.ready();
      expect(client.session.sessionId).toBe(sessionId);
      const next = await client.locks.mutex(path).tryAcquire();
      expect(await next?.release()).toBe("released");
    });
  });
}

function sequence(name: string): number {
  return Number(name.slice(-10));
}
