// The embedded server in a process of its own, so that nothing else is part of the figures.
import { liveHeapBytes } from "../heap.js";
import type { Footprint, Serving } from "./messages.js";

const beginMs = performance.now();
const { startEmbeddedZooKeeper } = await import("@holdfast/test-servers");
const loadedMs = performance.now();
const server = await startEmbeddedZooKeeper({ maxSessionTimeoutMs: 600_000 });
const startedMs = performance.now();

function footprint(): Footprint {
  const heapBytes = liveHeapBytes();
  return {
    rssBytes: process.memoryUsage.rss(),
    heapBytes,
    sessions: server.sessions().length,
    // The root is not counted.
    znodes: server.nodes().length - 1,
    transactions: Number(server.zxid),
  };
}

process.on("message", () => process.send?.(footprint()));
process.on("disconnect", () => process.exit());
const serving: Serving = {
  port: server.port,
  loadMs: loadedMs - beginMs,
  startMs: startedMs - loadedMs,
  footprint: footprint(),
};
process.send?.(serving);
