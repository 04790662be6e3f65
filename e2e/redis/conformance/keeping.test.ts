import { type Fixture, keepingConformance, keepingOptions } from "@holdfast/conformance";
import { afterAll, beforeAll, describe } from "vitest";
import { sharePrinted } from "../../support/share-of-cases.js";
import { cluster, fixtureOn, type Servers, sentinels, single } from "./servers.js";

// No keeping may end by itself while a case runs. This lease is long enough for that, since each proof sets the whole lease.
const options = { ...keepingOptions, leaseMs: 3 * keepingOptions.keepMs };

/** `part`: the share of the cases in a run that is not full. */
function keepingOn(where: string, start: () => Promise<Servers>, part: number): void {
  describe(where, () => {
    let servers: Servers;
    beforeAll(async () => {
      servers = await start();
    }, 300_000);
    afterAll(() => servers?.stop(), 60_000);

    const shared = sharePrinted(`Redis, ${where}, kept locks`, part);
    const fixture = (): Promise<Fixture> =>
      fixtureOn(servers, { options, waiting: (state, lock) => state.waits.waitingOn(lock) });
    keepingConformance(`Redis, ${where}`, fixture, { chosen: shared.chosen });
    shared.print();
  });
}

keepingOn("one server", single, 1);
keepingOn("sentinels", sentinels, 0.12);
keepingOn("a cluster", cluster, 0.12);
