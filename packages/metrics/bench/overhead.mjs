// What the metrics add to one acquire and release of a lock in memory. Run after a build: node bench/overhead.mjs
// Rounds with and without metrics alternate in one process. The medians of their differences are printed.

import { memoryLocks } from "@holdfast/core";
import { lockMetrics } from "@holdfast/metrics";

const rounds = 31;
const acquires = 5_000;

// The CPU time of this process, so that other work on the machine does not count.
const usedNs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
};

async function round(locks) {
  const startedNs = usedNs();
  for (let i = 0; i < acquires; i++) {
    const handle = await locks.mutex(`orders/${i % 100}`).acquire();
    await handle.release();
  }
  return (usedNs() - startedNs) / acquires;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const plain = memoryLocks();
const measured = memoryLocks();
const metrics = lockMetrics(measured);
await round(plain);
await round(measured);
const pairs = [];
for (let i = 0; i < rounds; i++) {
  // Each of the two comes first in every other round, so that neither gains from a drift of the machine's speed.
  const first = await round(i % 2 === 0 ? plain : measured);
  const second = await round(i % 2 === 0 ? measured : plain);
  pairs.push(i % 2 === 0 ? [first, second] : [second, first]);
}
const show = (ns) => `${Math.round(ns).toLocaleString("en")} ns`;
console.log(`acquire + release without metrics: ${show(median(pairs.map(([without]) => without)))}`);
console.log(`with metrics:                      ${show(median(pairs.map(([, with_]) => with_)))}`);
console.log(
  `added, median of ${rounds} pairs:        ${show(median(pairs.map(([without, with_]) => with_ - without)))}`,
);

const scrapes = [];
for (let i = 0; i < 20; i++) {
  const startedNs = process.hrtime.bigint();
  await metrics.registry.metrics();
  scrapes.push(Number(process.hrtime.bigint() - startedNs));
}
console.log(`a scrape of one group:             ${show(median(scrapes))}`);
metrics.close();
await plain.close();
await measured.close();
