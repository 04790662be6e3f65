import { RedisConnection, startRedis, UnreachableError } from "@holdfast/test-servers";
import { expect, test } from "vitest";
import { limitOpenFiles, openFileLimit } from "../../../src/engine/limits/open-files.js";

test("a running server answers no connection beyond its limit of files, and does again when it is restored", async () => {
  await using redis = await startRedis();
  const before = openFileLimit(redis.pid);
  const restore = await limitOpenFiles(redis.pid, 20);
  expect(openFileLimit(redis.pid)).toEqual({ soft: 20, hard: before.hard });

  const open: RedisConnection[] = [];
  const dial = async (timeoutMs: number): Promise<boolean> => {
    const connection = await RedisConnection.connect({ port: redis.port, timeoutMs });
    open.push(connection);
    try {
      return (await connection.command("PING")) === "PONG";
    } catch (error) {
      if (error instanceof UnreachableError) return false;
      throw error;
    }
  };
  try {
    let answered = 0;
    // The first connection is below the limit, however late a busy server answers it.
    while (answered < 30 && (await dial(answered === 0 ? 30_000 : 1_000))) answered += 1;
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(20);
    await restore();
    expect(openFileLimit(redis.pid)).toEqual(before);
    expect(await dial(30_000)).toBe(true);
  } finally {
    for (const connection of open) connection.close();
  }
});

test("a limit above the present one changes nothing", async () => {
  await using redis = await startRedis();
  const before = openFileLimit(redis.pid);
  await limitOpenFiles(redis.pid, before.soft + 1_000);
  expect(openFileLimit(redis.pid)).toEqual(before);
});
