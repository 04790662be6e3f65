import { expect, it } from "vitest";
import { hashShape } from "../../src/redis/reading.js";

const owner = "0f0b6c4e-0000-4000-8000-000000000001:7";

it.each([
  ["a mode and a reader", ["mode", "read", owner, "1"], "lock"],
  ["an owner alone", [owner, "1"], "lock"],
  ["a mode without an owner, as a program's own hash may have", ["mode", "read"], "other"],
  ["another field", [owner, "1", "colour", "red"], "other"],
] as const)("a hash with %s is a lock only where it has an owner and nothing else", (_what, pairs, is) => {
  expect(hashShape(pairs, false).is).toBe(is);
});

it("a part of a large hash that has owners alone is a lock that readers share", () => {
  const part = Array.from({ length: 128 }, (_, at) => [owner.replace(/7$/, `${at}`), "1"]).flat();
  expect(hashShape(part, true)).toMatchObject({ is: "lock", mode: "read", partly: true });
});
