import { startZooKeeper } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { expect, it, onTestFinished } from "vitest";
import { pairedRatio, percent, startWatcher } from "../../support/paired-cost.js";
import { buildPackages, scratchInside } from "../../support/process/emit.js";
import { connected, operatorSession } from "../../support/providers.js";
import { makeLocks } from "./nodes.js";

const count = 10_000;
const rounds = 24;

/** The collector watches everything below the root, also the measured locks, so it gets an event for each of their changes. */
const program = `
import { zookeeperCollector } from "@holdfast/collectors/zookeeper";
const [, connect, viewer] = process.argv;
const collector = zookeeperCollector({ connect, roots: ["/locks"], adminPort: false });
const rows = Array.from({ length: 100 }, (_, i) => "/locks/order-" + String(i).padStart(7, "0"));
collector.attend(viewer === "viewer" ? ["/locks/bench-0", "/locks/bench-1", ...rows] : []);
const timer = setInterval(() => {
  if (collector.sources()[0].state !== "ok") return;
  clearInterval(timer);
  console.log("whole " + collector.size);
}, 50);
`;

async function paired(viewer: boolean): Promise<number> {
  const server = await startZooKeeper({ heapMb: 1_024 });
  onTestFinished(() => server.stop());
  const maker = await operatorSession(server.connectString);
  const flags = CreateFlags.persistent;
  await maker.request("create", { path: "/locks", data: null, acl: openAcl, flags });
  await makeLocks(maker, "/locks", count);
  await using scratch = await scratchInside();
  const args = [server.connectString, viewer ? "viewer" : "nobody"];
  const { child, said } = await startWatcher(scratch.dir, program, args);
  expect(said).toContain(`whole ${count}`);
  const locks = await connected(server.connectString);
  const mutexes = Array.from({ length: 8 }, (_, i) => locks.mutex(`/locks/bench-${i}`));
  return pairedRatio(mutexes, child, rounds);
}

it("leaves most of the lock path alone without a viewer, and says what it and a viewer cost", {
  timeout: 150_000,
}, async () => {
  await buildPackages("@holdfast/zk-recipes");
  const nobody = await paired(false);
  const viewer = await paired(true);
  console.log(
    `cost of a collector to the lock path on ZooKeeper: ${percent(nobody)} with nobody looking, ${percent(viewer)} with 100 rows on a screen`,
  );
  // The figure that counts is the printed one, on a quiet machine. The asserted limit also holds while other processes run.
  expect(nobody).toBeGreaterThan(0.5);
});
