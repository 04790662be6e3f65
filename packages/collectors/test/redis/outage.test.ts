import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { eventually } from "@holdfast/test-servers";
import { describe, expect, it } from "vitest";
import { linkLimitMs } from "../../src/redis/link.js";
import { resolveCollectorOptions } from "../../src/redis/options.js";
import { collect } from "./support.js";

/** Words of the client library and of the system's calls, which mean nothing to an operator. */
const driverText = /max retries|maxRetriesPerRequest|Connection is closed|writeable|ECONN|ETIMEDOUT|connect /;

/** No process listens there. A port that the kernel has just given out and got back could be given to another process meanwhile. */
const closedPort = 1;

/** A server that gives every command the same answer. */
async function answering(reply: string): Promise<{ url: string; [Symbol.dispose](): void }> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      for (const _ of String(bytes).matchAll(/^\*/gm)) socket.write(`${reply}\r\n`);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `redis://u:p@127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() };
}

describe("a collector of a Redis that is not reached", () => {
  it("says one sentence of its own and keeps to it, whatever the client library says", async () => {
    const { collector, events } = collect({
      url: `redis://127.0.0.1:${closedPort}`,
      patterns: ["*"],
    });
    const lists = () => collector.sources().filter(({ source }) => source === "scan" || source === "pubsub");
    const seen = new Set<string>();
    collector.onEvent(() => {
      for (const { state, message } of lists()) if (state !== "starting") seen.add(`${state}: ${message}`);
    });
    await eventually(() => lists().every(({ state }) => state === "down"), {
      what: "the outage to be told",
      withinMs: 10_000,
    });
    // The client library words its error differently for the first try, for later tries, and for those while it connects.
    const tries = new Map(lists().map(({ source }) => [source, new Set<number | null>()]));
    await eventually(
      () => {
        for (const { source, nextTryMs } of lists()) tries.get(source)?.add(nextTryMs);
        return [...tries.values()].every(({ size }) => size >= 3);
      },
      { what: "three tries of each source", withinMs: 20_000 },
    );
    for (const { state, message } of lists()) seen.add(`${state}: ${message}`);
    expect([...seen]).toEqual(["down: no contact with Redis: connecting again"]);
    const [server] = await collector.servers();
    expect(server?.facts).toEqual([
      { name: "not reachable", value: "the connection was refused", warning: true },
    ]);
    const trouble = await collector.detail("a", { maxWaiters: 1 }).catch((error: Error) => error.message);
    expect(trouble).toBe("not sent to Redis: the connection was refused");
    expect(JSON.stringify(collector.sources())).not.toMatch(driverText);
    expect(events.filter(({ type }) => type === "status").length).toBeLessThan(10);
  });

  it("is known for one 7 s after a cut without a word, by the collector's own limits", () => {
    const { channelsEveryMs } = resolveCollectorOptions({ url: "redis://127.0.0.1" });
    expect(channelsEveryMs + linkLimitMs).toBeLessThanOrEqual(7_000);
  });

  it("passes on what the server itself says against its credentials", async () => {
    using server = await answering("-WRONGPASS invalid username-password pair or user is disabled.");
    const { collector } = collect({ url: server.url, patterns: ["*"] });
    await eventually(
      () =>
        collector
          .sources()
          .find(({ source }) => source === "pubsub")
          ?.message?.includes("WRONGPASS"),
      { what: "the refusal to be told", withinMs: 10_000, detail: () => JSON.stringify(collector.sources()) },
    );
    expect(JSON.stringify(collector.sources())).not.toMatch(driverText);
  });
});
