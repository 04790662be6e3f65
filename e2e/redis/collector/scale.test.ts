import { redisCollector } from "@holdfast/collectors/redis";
import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { share } from "../../support/share.js";

const locks = share("locks that a collector finds", 20_000, 100_000);
const others = share("other keys around them", 200_000, 1_000_000);

/** Holders as Redisson writes them: one client for each thousand locks. */
const fill = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local owner = string.format('%08x-3b0a-4c5d-9e6f-112233445566:%d', math.floor(i / 1000), i)
  redis.call('HSET', 'order:' .. i, owner, '1')
  redis.call('PEXPIRE', 'order:' .. i, 600000)
end`;
const surround = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  if i % 4 == 0 then redis.call('HSET', 'user:' .. i, 'name', 'Ada') else redis.call('SET', 'session:' .. i, i) end
end`;

async function filled(node: RedisNode, lua: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 20_000)
    await node.command("EVAL", lua, 0, at, Math.min(count, at + 20_000) - 1);
}

describe("many locks", () => {
  let node: RedisNode;
  beforeAll(async () => {
    node = await startRedis();
    await filled(node, fill, locks);
  });
  afterAll(() => node.stop());

  async function census(what: string): Promise<number> {
    const cpuBefore = await cpuSeconds();
    const ownBefore = process.cpuUsage();
    const startedMs = performance.now();
    let longestStallMs = 0;
    let lastMs = performance.now();
    const watch = setInterval(() => {
      longestStallMs = Math.max(longestStallMs, performance.now() - lastMs - 10);
      lastMs = performance.now();
    }, 10);
    const collector = redisCollector({ url: node.url, patterns: ["order:*"] });
    const seen: number[] = [];
    try {
      await eventually(
        () => {
          const [scan] = collector.sources();
          if (scan?.state === "syncing") seen.push(scan.coverage);
          return scan?.state === "ok";
        },
        { what: "a whole pass", withinMs: 100_000, detail: () => JSON.stringify(collector.sources()[0]) },
      );
      const tookMs = performance.now() - startedMs;
      expect(collector.size).toBe(locks);
      expect(collector.sources()[0]?.coverage).toBe(1);
      // The coverage never goes back, and stays below 1 until the scan is complete.
      expect(seen).toEqual([...seen].sort((one, other) => one - other));
      expect(Math.max(0, ...seen)).toBeLessThan(1);
      const rssMb = Math.round(process.memoryUsage().rss / 1_048_576);
      console.log(
        `${what}: ${Math.round(tookMs)} ms, ${((await cpuSeconds()) - cpuBefore).toFixed(2)} s of the server, ${(process.cpuUsage(ownBefore).user / 1e6).toFixed(2)} s of this process, longest stall ${Math.round(longestStallMs)} ms, RSS ${rssMb} MB`,
      );
      return tookMs;
    } finally {
      clearInterval(watch);
      await collector.close();
    }
  }

  async function cpuSeconds(): Promise<number> {
    const info = String(await node.command("INFO", "cpu"));
    const of = (field: string): number => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)?.[1] ?? 0);
    return of("used_cpu_user") + of("used_cpu_sys");
  }

  it("are all found within 60 seconds at the default throttle", { timeout: 120_000 }, async () => {
    // 20,000 locks take 2 s on an idle machine, and took 15 s beside much other work.
    expect(await census(`${locks} locks`)).toBeLessThan(60_000);
  });

  it("are all found among other keys within 90 seconds at the default throttle", {
    timeout: 300_000,
  }, async () => {
    await filled(node, surround, others);
    expect(await census(`${locks} locks among ${others} other keys`)).toBeLessThan(90_000);
  });
});
