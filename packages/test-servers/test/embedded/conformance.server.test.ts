import { afterAll, beforeAll, describe, test } from "vitest";
import { startZooKeeper, type ZooKeeperNode } from "../../src/index.js";
import { conformance, holds } from "./conformance/list.js";
import type { Target } from "./conformance/trial.js";

const nearTheLimit = ["/limit/a", "/limit/b"] as const;
let server: ZooKeeperNode | undefined;
let stock: ZooKeeperNode | undefined;
let target: Target;

beforeAll(async () => {
  server = await startZooKeeper({
    extendedTypes: true,
    containerCheckIntervalMs: 1_000,
    sequences: { [nearTheLimit[0]]: 2_147_483_643, [nearTheLimit[1]]: 2_147_483_644 },
  });
  // Without `conf` the start cannot see that it is its own server that answers.
  stock = await startZooKeeper({ config: { "4lw.commands.whitelist": "srvr,conf" } });
  const addressOf = ({ port }: ZooKeeperNode) => ({ host: "127.0.0.1", port });
  target = { ...addressOf(server), stock: addressOf(stock), nearTheLimit };
});

afterAll(async () => {
  await server?.stop();
  await stock?.stop();
});

describe("ZooKeeper itself", () => {
  for (const item of conformance) {
    test(`${item.number}. ${item.title}`, () => holds(item, target));
  }
});
