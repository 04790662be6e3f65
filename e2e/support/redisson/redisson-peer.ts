import { JvmPeer, startJvm } from "../java/jvm-peer.js";
import type { LineProcess } from "../process/line-process.js";
import { RedissonClient, type RedissonClientOptions } from "./redisson-client.js";
import { type RedissonVersion, redissonPeerClassPath } from "./redisson-versions.js";

/** A JVM with Redisson in it. */
export async function startRedissonPeer(options: { redisson: RedissonVersion }): Promise<RedissonPeer> {
  const classPath = await redissonPeerClassPath(options.redisson);
  return startJvm(
    classPath,
    "holdfast.peer.RedissonPeer",
    (lines, version) => new RedissonPeer(lines, version),
  );
}

export class RedissonPeer extends JvmPeer<RedissonClient, RedissonClientOptions> {
  /** The version of Redisson in this JVM, as its jar says. */
  readonly redissonVersion: string;

  constructor(lines: LineProcess, redissonVersion: string) {
    super(lines, (...given) => new RedissonClient(...given));
    this.redissonVersion = redissonVersion;
  }
}
