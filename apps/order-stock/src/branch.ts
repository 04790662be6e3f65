// One part of the shop as a process of its own: `node branch.js <job as JSON>`, started with an IPC channel. It works
// until the channel closes, releases what it holds, and exits by itself.
import { setMaxListeners } from "node:events";
import { redisLocks } from "@holdfast/redis-recipes";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { type BranchJob, redisPrefix } from "./live/messages.js";
import { type Place, traffic } from "./live/traffic.js";

const job = JSON.parse(process.argv[2] ?? "null") as BranchJob;
const sessionTimeoutMs = 10_000;
const releaseTimeoutMs = 1_000;

// Ctrl-C reaches every process in the terminal. The process that started this one decides when it ends.
process.on("SIGINT", () => {});

async function main(): Promise<void> {
  const closing = new AbortController();
  process.on("disconnect", () => closing.abort(new Error("dismissed")));
  const { signal } = closing;
  // Every flow adds a listener to it.
  setMaxListeners(0, signal);
  const { name, duty } = job;
  const places: Place[] = [
    { locks: zookeeperLocks({ connect: job.zookeeper, sessionTimeoutMs, identity: true }), prefix: "" },
  ];
  if (job.redis !== null) {
    places.push({ locks: redisLocks({ url: job.redis, identity: true }), prefix: redisPrefix });
  }
  try {
    await Promise.all(places.map(({ locks }) => locks.ready()));
    if (process.connected) process.send?.("ready");
    await traffic({ places, name, duty, signal });
  } finally {
    await Promise.all(places.map(({ locks }) => locks.close({ releaseTimeoutMs })));
  }
}

main().then(
  () => {
    if (process.connected) process.disconnect();
  },
  (error: Error) => {
    if (process.connected) {
      console.error(error.stack ?? error.message);
      process.exitCode = 1;
      process.disconnect();
    }
  },
);
