import { type Fixture, keepingConformance, keepingOptions } from "@holdfast/conformance";
import { afterAll, beforeAll } from "vitest";
import { sharePrinted } from "../../support/share-of-cases.js";
import { fixtureOn, type Servers, single } from "./servers.js";

let servers: Servers;
beforeAll(async () => {
  servers = await single();
}, 300_000);
afterAll(() => servers?.stop(), 60_000);

const shared = sharePrinted("Redis, kept locks", 1);
// Nothing may end a keeping by itself while a case runs; each proof sets the whole lease.
const options = { ...keepingOptions, leaseMs: 3 * keepingOptions.keepMs };
const fixture = (): Promise<Fixture> =>
  fixtureOn(servers, { options, waiting: (state, lock) => state.waits.waitingOn(lock) });

keepingConformance("Redis", fixture, { chosen: shared.chosen });
shared.print();
