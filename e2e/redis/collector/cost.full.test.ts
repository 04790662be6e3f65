import { redisLocks } from "@holdfast/redis-recipes";
import { startRedis } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { pairedRatio, percent, startWatcher } from "../../support/paired-cost.js";
import { buildPackages, scratchInside } from "../../support/process/emit.js";

const program = `
import { redisCollector } from "@holdfast/collectors/redis";
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

const rounds = 24;

async function paired(viewer: boolean): Promise<number> {
  const node = await startRedis();
  onTestFinished(() => node.stop());
  await node.command("EVAL", fill, 0);
  await using scratch = await scratchInside();
  const args = [node.url, viewer ? "viewer" : "nobody"];
  const { child, said } = await startWatcher(scratch.dir, program, args);
  expect(said).toContain("whole 20000");
  const locks = redisLocks({ url: node.url });
  onTestFinished(async () => {
    await locks.close();
  });
  await locks.ready();
  const mutexes = Array.from({ length: 8 }, (_, i) => locks.mutex(`bench-${i}`));
  return pairedRatio(mutexes, child, rounds);
}

it("leaves most of the lock path alone without a viewer, and says what it and a viewer cost", {
  timeout: 300_000,
}, async () => {
  await buildPackages("@holdfast/redis-recipes");
  const nobody = await paired(false);
  const viewer = await paired(true);
  console.log(
    `cost of a collector to the lock path: ${percent(nobody)} with nobody looking, ${percent(viewer)} with 100 rows on a screen`,
  );
  // The printed figure, from a quiet machine, is the one to read. The limit here also holds beside other processes.
  expect(nobody).toBeGreaterThan(0.5);
});
