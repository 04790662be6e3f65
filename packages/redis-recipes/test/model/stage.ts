import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { RealServer } from "./real-server.js";

export interface Stage {
  node: RedisNode;
  server: RealServer;
  runId: string;
}

/** A server for one file of tests, emptied before each test. */
export function stage(): Stage {
  const stage = {} as Stage;
  beforeAll(async () => {
    stage.node = await startRedis();
    stage.server = await RealServer.connect(Number(new URL(stage.node.url).port));
    stage.runId = /run_id:(\w+)/.exec(await stage.server.redis.info("server"))?.[1] ?? "";
  });
  beforeEach(() => stage.server.redis.flushall());
  afterAll(async () => {
    stage.server?.close();
    await stage.node?.stop();
  });
  return stage;
}

const uuid = (digit: string, version: string, variant = "a") =>
  `${digit.repeat(8)}-${digit.repeat(4)}-${version}${digit.repeat(3)}-${variant}${digit.repeat(3)}-${digit.repeat(12)}`;

/** Owners of two providers of ours, of which the second may keep locks, and of one thread of each of two Redisson clients. */
export const ourOwners: readonly string[] = ["1", "2"].flatMap((digit) =>
  [1, 2, 3].map((counter) => `${uuid(digit, "8", digit === "2" ? "e" : "a")}:${counter}`),
);
export const javaOwners: readonly string[] = ["a", "b"].map((digit) => `${uuid(digit, "4")}:57`);
