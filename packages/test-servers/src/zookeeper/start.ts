import { freePort } from "../free-port.js";
import { requireZooKeeper } from "../install/ensure.js";
import type { ServerPlace } from "../process/server-place.js";
import { ZooKeeperNode } from "./node.js";
import type { ZooKeeperOptions } from "./node-files.js";

/** What `startZooKeeper()` takes. */
export interface StartZooKeeperOptions extends ZooKeeperOptions {
  /** Client port on 127.0.0.1; default a fresh one. */
  port?: number;
  /** Where it runs; default on 127.0.0.1. */
  place?: ServerPlace;
}

/**
 * Starts one real ZooKeeper server and resolves when it serves.
 *
 * @throws NotInstalledError when there is no server on this machine (`npx holdfast-servers ensure` gets one).
 * @throws TestServerError with the end of the server's log when it does not come up.
 */
export async function startZooKeeper(options: StartZooKeeperOptions = {}): Promise<ZooKeeperNode> {
  const install = requireZooKeeper();
  const adminPort = options.adminServer === true ? await freePort() : undefined;
  const port = options.port ?? (await freePort());
  const node = new ZooKeeperNode({ install, port, adminPort, at: options.place }, options);
  try {
    await node.spawn();
    await node.ready();
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}
