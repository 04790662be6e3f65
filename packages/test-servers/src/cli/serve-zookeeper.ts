import { once } from "node:events";
import { startEnsemble } from "../zookeeper/ensemble.js";
import { startZooKeeper } from "../zookeeper/start.js";

/** Runs servers until SIGINT, SIGTERM or SIGHUP. */
export async function serveZooKeeper(options: { nodes: number; port?: number }): Promise<void> {
  const { nodes, port } = options;
  // Listening begins before the start, so that an early ctrl-C ends the servers in order, too.
  const ended = new AbortController();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) =>
    once(process, name, { signal: ended.signal }),
  );
  const stopAsked = Promise.race(signals);
  stopAsked.catch(() => {});
  // The servers do not keep this process alive.
  const alive = setInterval(() => {}, 60_000);
  try {
    if (nodes === 1) {
      await using server = await startZooKeeper(port === undefined ? {} : { port });
      process.stdout.write(`${server.connectString}\n`);
      await stopAsked;
    } else {
      const ports =
        port === undefined ? {} : { ports: Array.from({ length: nodes }, (_, index) => port + index) };
      await using ensemble = await startEnsemble({ nodes, ...ports });
      process.stdout.write(`${ensemble.connectString}\n`);
      for (const node of ensemble.nodes) {
        process.stdout.write(`  ${node.connectString} pid ${node.pid} ${await node.mode()}\n`);
      }
      await stopAsked;
    }
  } finally {
    clearInterval(alive);
    ended.abort();
    await Promise.allSettled(signals);
  }
}
