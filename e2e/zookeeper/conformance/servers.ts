import type { Fixture } from "@holdfast/conformance";
import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe } from "vitest";
import { sharePrinted } from "../../support/share-of-cases.js";
import { type FixtureParts, linkedFixture } from "./fixture.js";

/** Gives the fixtures of one server's suites. A fixture can be made once the suite's hooks have run. */
export type FixtureOf = (parts?: FixtureParts) => () => Promise<Fixture>;

/** Says whether a case is part of this run. */
export type Chosen = (title: string) => boolean;
type Suites = (fixture: FixtureOf, chosen: Chosen) => void;

/** Registers the suites on a real ZooKeeper 3.8.0 and on the embedded one; in a run that is not full, a part of their cases. */
export function onBothServers(suites: Suites): void {
  on("a real server", () => startZooKeeper({ maxClientCnxns: 0 }), 0.1, suites);
  on("the embedded server", () => startEmbeddedZooKeeper({ containerCheckIntervalMs: 100 }), 0.06, suites);
}

interface Server {
  readonly connectString: string;
  stop(): Promise<void>;
}

function on(where: string, start: () => Promise<Server>, part: number, suites: Suites): void {
  describe(`on ${where}`, () => {
    let server: Server | undefined;
    beforeAll(async () => {
      server = await start();
    }, 300_000);
    afterAll(() => server?.stop());
    const share = sharePrinted(where, part);
    const fixture: FixtureOf = (parts) => () => {
      if (server === undefined) throw new Error(`${where} is not there`);
      return linkedFixture(server.connectString, parts);
    };
    suites(fixture, share.chosen);
    share.print();
  });
}
