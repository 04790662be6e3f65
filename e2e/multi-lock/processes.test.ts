import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { Operator } from "../zookeeper/features/operator.js";
import { type SetContender, startSetContenders } from "./set-contenders.js";
import { setContests } from "./set-contest.js";

let server: ZooKeeperNode;
let contenders: readonly SetContender[] = [];

beforeAll(async () => {
  server = await startZooKeeper();
  contenders = await startSetContenders({ zookeeper: server.connectString }, 3);
}, 180_000);
afterAll(async () => {
  await Promise.all(contenders.map((contender) => contender.close()));
  await server?.stop();
});

describe("processes that take overlapping sets on ZooKeeper in orders of their own", () => {
  setContests(
    ["a", "b", "c", "d"].map((letter) => `/sets/${letter}`),
    {
      contenders: () => contenders,
      async expectFree(name) {
        const operator = await Operator.connect(server.connectString);
        expect(await operator.children(name), name).toEqual([]);
      },
    },
  );
});
