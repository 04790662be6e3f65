import { afterAll, beforeAll, describe, test } from "vitest";
import { drawn } from "../../../../e2e/support/share.js";
import {
  startEnsemble,
  startZooKeeper,
  type ZooKeeperEnsemble,
  type ZooKeeperNode,
} from "../../src/index.js";
import { conformance, holds } from "./conformance/list.js";
import { type Ensemble, maxSessionTimeoutMs, type Target } from "./conformance/trial.js";
import type { Address } from "./support/wire.js";

const nearTheLimit = ["/limit/a", "/limit/b"] as const;
let server: ZooKeeperNode | undefined;
let stock: ZooKeeperNode | undefined;
let ensemble: ZooKeeperEnsemble | undefined;
let target: Target;

const addressOf = ({ port }: ZooKeeperNode): Address => ({ host: "127.0.0.1", port });

beforeAll(async () => {
  server = await startZooKeeper({
    extendedTypes: true,
    containerCheckIntervalMs: 1_000,
    sequences: { [nearTheLimit[0]]: 2_147_483_643, [nearTheLimit[1]]: 2_147_483_644 },
  });
  // `conf` is needed: by it the start sees that the server that answers is its own.
  stock = await startZooKeeper({ config: { "4lw.commands.whitelist": "srvr,conf" } });
  target = {
    ...addressOf(server),
    stock: addressOf(stock),
    nearTheLimit,
    ensemble: await threeMembers(),
  };
});

afterAll(async () => {
  await server?.stop();
  await stock?.stop();
  await ensemble?.stop();
});

async function threeMembers(): Promise<Ensemble> {
  // A follower that is cut off stays one for 20 s. Otherwise, on a busy machine, it would close its connections within a round.
  const started = await startEnsemble({ quorumProxies: true, syncLimit: 40, maxSessionTimeoutMs });
  ensemble = started;
  let leader: ZooKeeperNode;
  let first: ZooKeeperNode;
  return {
    async members() {
      await started.ready();
      leader = await started.leader();
      const [one, other] = started.nodes.filter((node) => node !== leader);
      if (one === undefined || other === undefined) throw new Error("three members have two followers");
      first = one;
      return [addressOf(one), addressOf(other)];
    },
    moves() {}, // the session moves when it is opened at another member
    async lags() {
      await started.cut(leader, first);
      return () => started.heal(leader, first);
    },
  };
}

describe("ZooKeeper itself", () => {
  const some = drawn("items of conformance, held against ZooKeeper", conformance, 38, ({ number }) =>
    String(number),
  );
  for (const item of some) {
    test(`${item.number}. ${item.title}`, () => holds(item, target));
  }
});
