import { describe, expect, it } from "vitest";
import { defaultLockGroup } from "../src/index.js";
import { LabelGuard, otherValue } from "../src/label-guard.js";

describe("the default group", () => {
  it.each([
    ["orders/17", "orders/*"],
    ["/curator/locks/order-17-2", "curator/locks/order-*-*"],
    ["{cart:0b7c1f9e-3f4d-4f8e-9a55-2d6f9a1b3c4d}", "{cart:*}"],
    ["blob:deadBEEF00", "blob:*"],
    ["deadbeef", "*"],
    ["facade", "facade"],
    ["job/7f3a9c1", "job/*"],
    ["job/fab1234", "job/*"],
    ["job/01ARZ3NDEKTSV4RRFFQ69G5FAV", "job/*"],
    ["ulid:01arz3ndektsv4rrffq69g5fav:lock", "ulid:*:lock"],
    ["user:alice@example.com", "user:*"],
    ["/mail/bob+x@mail.example.org/lock", "mail/*/lock"],
    ["@scope/pkg", "@scope/pkg"],
    ["order17", "order*"],
    ["v2/orders", "v*/orders"],
    ["node-a1b2c3-x", "node-*-x"],
    ["order:abcdef", "order:abcdef"],
    ["payments", "payments"],
    ["/", "/"],
    ["", "/"],
  ])("of %s is %s", (name, group) => {
    expect(defaultLockGroup(name)).toBe(group);
  });

  it("has 64 characters at most, and whole segments of the end where it goes", () => {
    const group = defaultLockGroup(`/${"segment/".repeat(20)}orders/17`);
    expect(group.length).toBeLessThanOrEqual(64);
    expect(group).toMatch(/^segment\/.*segment\/orders\/\*$/);
    expect(defaultLockGroup("x".repeat(1_000_000))).toBe("x".repeat(64));
  });
});

it("short hex ids are few groups", () => {
  let seed = 7;
  const hex = (): string => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed.toString(16).padStart(8, "0").slice(-7);
  };
  const groups = new Set(Array.from({ length: 2_500 }, () => defaultLockGroup(`job/${hex()}`)));
  // An id of letters alone looks like a word. That happens about twice in 2,500 ids.
  expect(groups.size).toBeLessThan(20);
});

it("the group of a name with a million characters is found without a step for each pair of them", () => {
  for (const part of ["a", "1", "@", "a@", "a1", "/", "f".repeat(7)]) {
    const name = part.repeat(1_000_000);
    const beganMs = performance.now();
    defaultLockGroup(name);
    // A pattern that backtracks at each character would need 10^12 steps, about an hour. A linear one needs milliseconds.
    expect(performance.now() - beganMs, part).toBeLessThan(5_000);
  }
});

describe("the guard of label values", () => {
  it("gives the place of a value that was let go to the next one", () => {
    const guard = new LabelGuard("lock_group", 1, () => {});
    expect([guard.pass("a"), guard.pass("b")]).toEqual(["a", otherValue]);
    guard.letGo("a");
    expect([guard.pass("b"), guard.pass("a")]).toEqual(["b", otherValue]);
  });

  it("keeps the first values and counts what goes to the others", () => {
    const overflows: string[] = [];
    const guard = new LabelGuard("lock_group", 2, (label) => overflows.push(label));
    expect(["a", "b", "c", "a", "d"].map((value) => guard.pass(value))).toEqual([
      "a",
      "b",
      otherValue,
      "a",
      otherValue,
    ]);
    expect(overflows).toEqual(["lock_group", "lock_group"]);
  });
});
