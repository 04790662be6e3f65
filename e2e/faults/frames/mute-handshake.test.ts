import { startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { connected } from "../../support/providers.js";
import { share } from "../../support/share.js";
import { spread } from "../server/figures.js";
import { Stage } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

/** So long that the time left after one attempt in vain outlasts a moment in which a busy machine stands still. */
const sessionTimeoutMs = 4_000;

let stage: Stage;
let proxies: [ZooKeeperProxy, ZooKeeperProxy];
let connect: string;
let path: string;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});
beforeEach(async () => {
  path = await stage.path();
  const target = stage.server.connectString;
  proxies = [await startZooKeeperProxy({ target }), await startZooKeeperProxy({ target })];
  connect = proxies.map(({ connectString }) => connectString).join(",");
});
afterEach(async () => {
  for (const proxy of proxies) await proxy.close();
});

describe("one of two servers that accepts connections and never answers", () => {
  it("costs a new provider no more than the limit of one attempt", async () => {
    const tookMs: number[] = [];
    await proxies[0].setMode("mute");
    const count = share("providers that may dial a mute server first", 4, 50);
    for (let i = 0; i < count; i++) {
      const before = performance.now();
      const locks = await connected(connect, { sessionTimeoutMs });
      const handle = await locks.mutex(path).acquire({ waitMs: 10_000 });
      tookMs.push(performance.now() - before);
      expect(await stage.operator.children(path)).toHaveLength(1);
      expect(await handle.release()).toBe("released");
      await locks.close();
    }
    console.log(`mute handshake on one of two servers: granted after ${spread(tookMs)}`);
    // Half of the session time-out, divided by the number of servers, plus time for a slow machine.
    expect(Math.max(...tookMs)).toBeLessThan(sessionTimeoutMs / 2 / 2 + 5_000);
  });

  it("costs a holder that has to move no hold", async () => {
    const downMs: number[] = [];
    const count = share("holders that may dial a mute server first", 3, 50);
    for (let i = 0; i < count; i++) {
      await Promise.all(proxies.map((proxy) => proxy.setMode("ok")));
      const locks = await connected(connect, { sessionTimeoutMs });
      const heard: string[] = [];
      locks.events.on("uncertain", () => heard.push("uncertain"));
      locks.events.on("lost", ({ reason }) => heard.push(`lost: ${reason}`));
      const recovered = new Promise<void>((resolve) => {
        locks.events.on("recovered", () => resolve());
      });
      const handle = await locks.mutex(path).acquire({ waitMs: 10_000 });
      const before = performance.now();
      // The proxies go mute for new connections in turn, and both drop theirs, so both orders of dialling come up.
      const mute = proxies[i % 2] as ZooKeeperProxy;
      await mute.setMode("mute");
      for (const proxy of proxies) proxy.endAll();
      await recovered;
      downMs.push(performance.now() - before);
      expect(handle.state).toBe("held");
      expect(heard).toEqual(["uncertain"]);
      expect(await handle.release()).toBe("released");
      expect(await stage.operator.children(path)).toEqual([]);
      await locks.close();
    }
    console.log(`mute handshake for a holder that has to move: recovered after ${spread(downMs)}`);
  });
});
