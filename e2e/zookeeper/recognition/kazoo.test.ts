import { fileURLToPath } from "node:url";
import { findKazoo, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { afterAll, beforeAll, beforeEach, describe, it } from "vitest";
import { LineProcess } from "../../support/process/line-process.js";
import { operatorSession } from "../../support/providers.js";
import { Records } from "./recorded.js";

const script = fileURLToPath(new URL("python/trees.py", import.meta.url));
const lineFolder = fileURLToPath(new URL("../../foreign/python", import.meta.url));

let server: ZooKeeperNode;
let python: LineProcess;
let session: ZooKeeperSession;
const records = new Records("kazoo");

beforeAll(async () => {
  const install = findKazoo();
  if (install === undefined) {
    throw new Error("no kazoo for Python on this machine; run: npx holdfast-servers ensure --only kazoo");
  }
  server = await startZooKeeper();
  python = new LineProcess(install.python, ["-B", script, lineFolder, server.connectString, "/kazoo"]);
  const [version] = await python.event("ready", (event) => event === "ready", 60_000);
  console.log(`kazoo ${version}`);
});
afterAll(async () => {
  await python?.end(5_000);
  await server?.stop();
  records.save();
});
beforeEach(async () => {
  session = await operatorSession(server.connectString);
});

describe("from a bare tree of kazoo is recognised", () => {
  it.each([
    ["lock", "a Lock, its holder and its queue"],
    ["readers", "a ReadLock with two readers in front of a writer"],
    ["writer", "a WriteLock in front of a reader"],
    ["semaphore", "the leases of a Semaphore"],
    ["semaphore-__lock__", "the queue of a Semaphore, as the Lock that it is"],
    ["gathering", "a DoubleBarrier that is filling, which has the look of a Semaphore"],
    ["gathered", "a DoubleBarrier that is full"],
    ["barrier", "nothing in a Barrier, which is an empty node"],
    ["counter", "nothing in a Counter, which is a text"],
    ["party", "nothing in a Party, whose members contend for nothing"],
  ])("%s: %s", async (name) => {
    await records.check(name, session, `/kazoo/${name}`);
  });
});
