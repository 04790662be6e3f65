// What the metrics add to one acquire and release, against locks in memory: node bench/overhead.mjs (after a build).
// Rounds with and without take turns in one process; the medians of their differences are printed.

import { memoryLocks } from "@holdfast/core";
import { lockMetrics } from "@holdfast/metrics";

const rounds = 31;
const acquires = 5_000;

// Time of this process, so that a busy machine does not count.
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
  // The two take turns at coming first, so that a drifting machine favours neither.
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
