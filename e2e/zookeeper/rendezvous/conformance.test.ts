import {
  barrierConformance,
  countDownLatchConformance,
  doubleBarrierConformance,
} from "@holdfast/core/testing";
import { afterAll, beforeAll } from "vitest";
import { linkedFixture, type Server, servers } from "./servers.js";

for (const { kind, start } of servers) {
  let server: Server;
  beforeAll(async () => {
    server = await start();
  }, 120_000);
  afterAll(() => server?.stop());

  const fixture = () => linkedFixture(server);
  countDownLatchConformance(`${kind} ZooKeeper`, fixture);
  barrierConformance(`${kind} ZooKeeper`, fixture);
  doubleBarrierConformance(`${kind} ZooKeeper`, fixture);
}
