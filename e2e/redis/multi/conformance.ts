import type { Fixture } from "@holdfast/conformance";
import {
  multiLockAcrossConformance,
  multiLockConformance,
} from "../../../packages/multi-lock/test/kit/conformance.js";
import { sharePrinted } from "../../support/share-of-cases.js";
import { fixtureOn, type Servers } from "../conformance/servers.js";

/** The prefix of all names. In a cluster it puts them into one slot, so that they can be taken together. */
const keyPrefix = "{multi}:";

/**
 * Runs the conformance suites of multi-locks, which demand all that a mutex owes: over Redis, and over Redis and another
 * backend. `part`: the share of the cases in a run that is not full.
 */
export function multiConformanceOn(
  where: string,
  servers: () => Servers,
  part: number,
  others?: { readonly what: string; fixture(): Promise<Fixture> },
): void {
  const name = `Redis, ${where}`;
  const share = sharePrinted(`multi-locks on ${name}`, part);
  const { chosen } = share;
  const fixture = (): Promise<Fixture> =>
    fixtureOn(servers(), {
      options: { keyPrefix },
      async loseHold(at, { name: lock }) {
        const key = `${keyPrefix}${lock}`;
        await (await at.masterOf(key)).command("DEL", key);
      },
    });
  multiLockConformance(name, fixture, { chosen });
  if (others !== undefined) {
    multiLockAcrossConformance(`${name}, and ${others.what}`, fixture, others.fixture, { chosen });
    multiLockAcrossConformance(`${others.what}, and ${name}`, others.fixture, fixture, { chosen });
  }
  share.print();
}
