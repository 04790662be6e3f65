import type { LockProvider } from "@holdfast/core";
import { type Fixture, leaderElectionConformance } from "@holdfast/core/testing";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll } from "vitest";
import { linkedFixture, type Server, servers } from "../rendezvous/servers.js";

for (const { kind, start } of servers) {
  let server: Server;
  beforeAll(async () => {
    server = await start();
  }, 120_000);
  afterAll(() => server?.stop());

  leaderElectionConformance(`${kind} ZooKeeper`, () => linkedFixture(server));
  leaderElectionConformance(`${kind} ZooKeeper as LeaderSelector`, async () =>
    selectors(await linkedFixture(server)),
  );
}

/** The same providers, whose elections are in the other form. */
function selectors(fixture: Fixture): Fixture {
  return {
    ...fixture,
    async provider(): Promise<LockProvider> {
      const provider = (await fixture.provider()) as ZooKeeperLocks;
      const inForm = provider.leaderElection.bind(provider);
      provider.leaderElection = (name, options) => inForm(name, { layout: "selector", ...options });
      return provider;
    },
  };
}
