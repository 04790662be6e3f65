import type { Fixture } from "@holdfast/core/testing";
import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe } from "vitest";
import { type FixtureParts, linkedFixture } from "./fixture.js";

/** What makes the fixtures of one server's suites, once its hooks have run. */
export type FixtureOf = (parts?: FixtureParts) => () => Promise<Fixture>;

/** The same suites on a real ZooKeeper 3.8.0 and on the embedded one, one server after the other. */
export function onBothServers(suites: (fixture: FixtureOf) => void): void {
  on("a real server", () => startZooKeeper({ maxClientCnxns: 0 }), suites);
  on("the embedded server", () => startEmbeddedZooKeeper({ containerCheckIntervalMs: 100 }), suites);
}

interface Server {
  readonly connectString: string;
  stop(): Promise<void>;
}

function on(where: string, start: () => Promise<Server>, suites: (fixture: FixtureOf) => void): void {
  describe(`on ${where}`, () => {
    let server: Server | undefined;
    beforeAll(async () => {
      server = await start();
    }, 120_000);
    afterAll(() => server?.stop());
    suites((parts) => () => {
      if (server === undefined) throw new Error(`${where} is not there`);
      return linkedFixture(server.connectString, parts);
    });
  });
}
