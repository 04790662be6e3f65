import Redlock, { type Lock } from "redlock";
import type { NodePeer } from "../turns.js";
import { closeRedis, connectRedis } from "./redis-client.js";
import { versionOf } from "./version-of.js";

/**
 * Over one server, as its readme shows it, except the number of tries, which has no limit here. It tries again after
 * 200 ms.
 */
export const peer: NodePeer = {
  versions: { redlock: versionOf("redlock"), ioredis: versionOf("ioredis") },
  async connect(server) {
    const redis = await connectRedis(server);
    const redlock = new Redlock([redis], { retryCount: -1 });
    return {
      lock(name) {
        let held: Lock;
        return {
          async acquire() {
            held = await redlock.acquire([`redlock-${name}`], 30_000);
          },
          async release() {
            await held.release();
          },
        };
      },
      close: () => closeRedis(redis),
    };
  },
};
