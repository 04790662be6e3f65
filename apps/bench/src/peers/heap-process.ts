// Measures heap for each hold and each waiter, in a process of its own:
// node heap-process.js <backend> <host:port> <holds> <waiters>
import { measureMemory, measureRedisMemory } from "../memory.js";

const [backend, address, holds, waiters] = process.argv.slice(2);
const options = { holds: Number(holds), waiters: Number(waiters), onProgress: console.error };
const report =
  backend === "zookeeper"
    ? await measureMemory({ connect: address as string, ...options })
    : await measureRedisMemory({ url: `redis://${address}`, ...options });
process.send?.(report);
process.disconnect();
