import type { TreeParticipant } from "@holdfast/zk-recipes/internal";
import { expect, it } from "vitest";
import { participantOf } from "../../src/zookeeper/participants.js";

it("a holder whose node is marked may keep its lock for no owner; a waiter waits whatever its mark says", () => {
  const person = (name: string): TreeParticipant => ({
    path: `/locks/a/${name}`,
    name,
    mode: "exclusive",
    session: 7n,
    sinceMs: 0,
    token: 9n,
    label: null,
    address: null,
    recognisedAs: "curator",
  });
  const plain = person("_c_3f2c91ab-77aa-4b1e-9d0c-000000000057-lock-0000000001");
  const marked = person("_c_3f2c91ab-77aa-4b1e-ed0c-000000000057-lock-0000000001");
  const foreign = person("e-lock-0000000001");
  expect(
    [plain, marked, foreign].map((each) => participantOf(each, undefined, null, null).mayBeKept),
  ).toEqual([false, true, false]);
  expect(participantOf(marked, undefined, 0, null).mayBeKept).toBe(false);
});
