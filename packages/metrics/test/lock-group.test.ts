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

describe("the guard of label values", () => {
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
