import {
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import zookeeper from "node-zookeeper-client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../support/providers.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());
beforeEach(async () => {
  proxy = await startZooKeeperProxy({ target: server.connectString });
  onTestFinished(() => proxy.close());
});

const sessionTimeoutMs = 4_500;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/**
 * A server of 3.6.0 to 3.8.0 sometimes executes a request, but passes its answer on only when something else arrives
 * (ZOOKEEPER-4537).
 */
describe("an answer that is held back until a ping comes", () => {
  it.each(["create2", "getChildren2", "delete"] as const)("costs us a tenth of a second: %s", async (op) => {
    const locks = await connected(proxy.connectString, { sessionTimeoutMs });
    await (await locks.mutex("/withheld").acquire()).release();
    const rule = proxy.holdReply({ op, until: "ping" });
    const tookMs = await timed(async () => (await locks.mutex("/withheld").acquire()).release());
    const held = await rule.hit();
    const ping = await proxy.waitFor((entry) => entry.op === "ping" && entry.at >= held.at);
    console.log(
      `${op} held back: the pair took ${Math.round(tookMs)} ms, the ping came after ${Math.round(ping.at - held.at)} ms`,
    );
    // If a ping had come by chance, the answer would not have been held back for so long.
    expect(tookMs).toBeGreaterThan(90);
    // A keep-alive would have come only by then.
    expect(tookMs).toBeLessThan(sessionTimeoutMs / 3);
  });

  it("to the keep-alive of an idle holder is chased too", async () => {
    const locks = await connected(proxy.connectString, { sessionTimeoutMs });
    await using handle = await locks.mutex("/withheld-sync").acquire();
    const rule = proxy.holdReply({ op: "sync", until: "ping" });
    const held = await rule.hit();
    const ping = await proxy.waitFor((entry) => entry.op === "ping" && entry.at >= held.at);
    // The next ping of the stock library would come later than that.
    expect(ping.at - held.at).toBeLessThan(sessionTimeoutMs / 3);
    const answer = await proxy.waitFor(
      (entry) => entry.kind === "reply" && entry.op === "sync" && entry.at > ping.at,
    );
    expect(answer.fate).toBe("forwarded");
    expect(handle.state).toBe("held");
  });

  it("costs the stock library a third of the session time-out", async () => {
    const client = zookeeper.createClient(proxy.connectString, { sessionTimeout: sessionTimeoutMs });
    onTestFinished(() => client.close());
    await new Promise<void>((resolve) => {
      client.once("connected", resolve);
      client.connect();
    });
    const exists = (): Promise<void> =>
      new Promise((resolve, reject) => client.exists("/", (error) => (error ? reject(error) : resolve())));
    await exists();
    proxy.holdReply({ op: "exists", until: "ping" });
    const tookMs = await timed(exists);
    console.log(
      `stock: an answer held back came after ${Math.round(tookMs)} ms of a session of ${sessionTimeoutMs} ms`,
    );
    expect(tookMs).toBeGreaterThan(sessionTimeoutMs / 3 - 100);
  });
});
