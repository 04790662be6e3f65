import { spawn } from "node:child_process";
import { once } from "node:events";
import { redisLocks } from "@holdfast/redis-recipes";
import { startRedis } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { buildPackages, scratchInside } from "../../support/emit.js";
import { share } from "../../support/share.js";

const program = `
import { redisCollector } from "@holdfast/redis-recipes/collector";
const collector = redisCollector({ url: process.argv[1], patterns: ["order:*"] });
const keys = process.argv[2] === "viewer" ? Array.from({ length: 100 }, (_, i) => "order:" + i) : [];
collector.attend(keys);
const timer = setInterval(() => {
  if (collector.sources()[0].state !== "ok") return;
  clearInterval(timer);
  console.log("whole " + collector.size);
}, 50);
`;

const fill = `
for i = 0, 19999 do
  redis.call('HSET', 'order:' .. i, string.format('%08x-3b0a-4c5d-9e6f-112233445566:%d', i % 20, i), '1')
  redis.call('PEXPIRE', 'order:' .. i, 600000)
end`;

const rounds = share("rounds of the lock path with and without a collector", 4, 24);
const windowMs = 600;

/** Pairs of acquire and release in a window, each with the collector's process going or standing still. */
async function paired(viewer: boolean): Promise<number> {
  const node = await startRedis();
  onTestFinished(() => node.stop());
  await node.command("EVAL", fill, 0);
  await using scratch = await scratchInside();
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", program, node.url, viewer ? "viewer" : "nobody"],
    { cwd: scratch.dir, stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const [whole] = (await once(child.stdout, "data")) as [Buffer];
  expect(String(whole)).toContain("whole 20000");
  const locks = redisLocks({ url: node.url });
  onTestFinished(async () => {
    await locks.close();
  });
  await locks.ready();
  const mutexes = Array.from({ length: 8 }, (_, i) => locks.mutex(`bench-${i}`));
  const window = async (): Promise<number> => {
    const endMs = performance.now() + windowMs;
    let pairs = 0;
    await Promise.all(
      mutexes.map(async (mutex) => {
        while (performance.now() < endMs) {
          await (await mutex.acquire()).release();
          pairs++;
        }
      }),
    );
    return pairs;
  };
  await window();
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const figures: Record<string, number> = {};
    // Now the one first, now the other.
    for (const state of round % 2 === 0 ? ["going", "still"] : ["still", "going"]) {
      child.kill(state === "going" ? "SIGCONT" : "SIGSTOP");
      figures[state] = await window();
    }
    ratios.push((figures.going ?? 0) / (figures.still ?? 1));
  }
  const sorted = ratios.sort((one, other) => one - other);
  return ((sorted[Math.floor((rounds - 1) / 2)] ?? 0) + (sorted[Math.ceil((rounds - 1) / 2)] ?? 0)) / 2;
}

it("leaves most of the lock path alone with nobody looking, and says what it and a viewer cost", {
  timeout: 150_000,
}, async () => {
  await buildPackages("@holdfast/redis-recipes");
  const nobody = await paired(false);
  const viewer = await paired(true);
  console.log(
    `cost of a collector to the lock path: ${((1 - nobody) * 100).toFixed(1)} % with nobody looking, ${((1 - viewer) * 100).toFixed(1)} % with 100 rows on a screen`,
  );
  // The figure to read is the printed one, on a quiet machine; what is asserted also holds beside other processes.
  expect(nobody).toBeGreaterThan(0.5);
});
