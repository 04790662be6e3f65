import { readWriteLockConformance, reentrantReadWriteLockConformance } from "@holdfast/core/testing";
import { afterAll, beforeAll } from "vitest";
import { linkedFixture, type Server, servers } from "../rendezvous/servers.js";

for (const { kind, start } of servers) {
  let server: Server;
  beforeAll(async () => {
    server = await start();
  }, 120_000);
  afterAll(() => server?.stop());

  readWriteLockConformance(`${kind} ZooKeeper`, () => linkedFixture(server));
  reentrantReadWriteLockConformance(`${kind} ZooKeeper`, () => linkedFixture(server));
}
