// Holds a lock until it is killed.
import { zookeeperLocks } from "@holdfast/zk-recipes";

const [, , connect, key] = process.argv;
const locks = zookeeperLocks({ connect, identity: true, sessionTimeoutMs: 14_000 });
await locks.mutex(key).acquire({ label: "killed" });
process.stdout.write("held\n");
setInterval(() => {}, 60_000);
