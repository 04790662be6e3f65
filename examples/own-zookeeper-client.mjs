// Locks over the client of node-zookeeper-client that a service already has.
//
//   ZOOKEEPER_CONNECT=127.0.0.1:2181 node own-zookeeper-client.mjs

import { once } from "node:events";
import { promisify } from "node:util";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import zookeeper from "node-zookeeper-client";

const client = zookeeper.createClient(process.env.ZOOKEEPER_CONNECT ?? "127.0.0.1:2181");
// The provider puts its own handlers into the client and reconnects it once.
const locks = zookeeperLocks({ client });
client.connect();
await locks.ready();

await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async () => {
  const exists = promisify(client.exists.bind(client));
  console.log(`the service's own request finds /: ${(await exists("/")) !== null}`);
});

await locks.close(); // gives locks back and leaves the client as it is
const gone = once(client, "disconnected");
client.close();
await gone;
console.log("closed");
