import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { linkedFixture } from "../../zookeeper/conformance/fixture.js";
import { type Servers, single } from "../conformance/servers.js";
import { multiConformanceOn } from "./conformance.js";

const fullRun = process.env.HOLDFAST_FULL === "1";

let redis: Servers;
let zookeeper: { readonly connectString: string; stop(): Promise<void> };

beforeAll(async () => {
  // A full run uses a real ZooKeeper server.
  const starting = fullRun ? startZooKeeper({ maxClientCnxns: 0 }) : startEmbeddedZooKeeper();
  [redis, zookeeper] = await Promise.all([single(), starting]);
});
afterAll(async () => {
  await redis?.stop();
  await zookeeper?.stop();
});

multiConformanceOn("one server", () => redis, 0.15, {
  what: "ZooKeeper",
  fixture: () => linkedFixture(zookeeper.connectString),
});
