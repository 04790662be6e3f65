// One leader in a fleet. When its process is asked to end, it hands over at once. Start this program in two terminals.
//
//   ZOOKEEPER_CONNECT=127.0.0.1:2181 node leader.mjs

/** @import { FencingToken } from "@holdfast/zk-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import { closeOnSignals, zookeeperLocks } from "@holdfast/zk-recipes";

const locks = zookeeperLocks({
  connect: process.env.ZOOKEEPER_CONNECT ?? "127.0.0.1:2181",
  sessionTimeoutMs: 10_000, // how long the others wait after a crash
});

/**
 * Stands for the work of a leader. What it writes carries the token of its term.
 *
 * @param {{ fence: FencingToken | null, signal: AbortSignal }} how
 */
async function runDueJobs({ signal }) {
  // Rejects when the signal aborts. lead() knows that error and does not report it.
  await sleep(1_000, undefined, { signal });
}

// On SIGTERM or SIGINT the signal of the body aborts. lead() resolves when the body has ended, and the next candidate leads.
closeOnSignals(locks, { graceMs: 10_000 });
const { signal: never } = new AbortController();

await locks
  .leaderElection("scheduler")
  .lead({ label: `process ${process.pid}`, signal: never }, async (term, { signal }) => {
    console.log("leading");
    while (!signal.aborted) await runDueJobs({ fence: term.token, signal });
  });
console.log("stopped");
