import { startEnsemble } from "../zookeeper/ensemble.js";
import { startZooKeeper } from "../zookeeper/start.js";
import { StopRequest } from "./stop-request.js";

/** Runs servers until SIGINT, SIGTERM or SIGHUP. */
export async function serveZooKeeper(options: { nodes: number; port?: number }): Promise<void> {
  const { nodes, port } = options;
  // The listener for signals is made before the servers, so that an early ctrl-C ends them in order, too.
  await using stop = new StopRequest();
  if (nodes === 1) {
    await using server = await startZooKeeper(port === undefined ? {} : { port });
    process.stdout.write(`${server.connectString}\n`);
    await stop.came();
    return;
  }
  const ports =
    port === undefined ? {} : { ports: Array.from({ length: nodes }, (_, index) => port + index) };
  await using ensemble = await startEnsemble({ nodes, ...ports });
  process.stdout.write(`${ensemble.connectString}\n`);
  for (const node of ensemble.nodes) {
    process.stdout.write(`  ${node.connectString} pid ${node.pid} ${await node.mode()}\n`);
  }
  await stop.came();
}
