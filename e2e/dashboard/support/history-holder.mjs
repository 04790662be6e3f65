// Holds a lock until it is killed. From the end of the renewals the dashboard has half of the lease to read it once; on a busy machine
// a reading may come some seconds late.
import { redisLocks } from "@holdfast/redis-recipes";
import { zookeeperLocks } from "@holdfast/zk-recipes";

const [, , address, key] = process.argv;
const locks = address.startsWith("redis:")
  ? redisLocks({ url: address, identity: true, leaseMs: 12_000 })
  : zookeeperLocks({ connect: address, identity: true, sessionTimeoutMs: 18_000 });
await locks.mutex(key).acquire({ label: "killed" });
process.stdout.write("held\n");
setInterval(() => {}, 60_000);
