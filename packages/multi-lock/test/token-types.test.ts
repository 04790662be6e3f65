import { type AnyToken, type LockProvider, memoryLocks } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { expect, expectTypeOf, it } from "vitest";

it("a multi-lock has no token, and each of its parts has that of its own provider", async () => {
  await using locks = memoryLocks();
  const held = await multiLock([locks.mutex("accounts/7"), locks.mutex("accounts/3")]).acquire();
  expectTypeOf(held.token).toEqualTypeOf<null>();
  expectTypeOf(held.parts).items.toHaveProperty("token").toEqualTypeOf<bigint>();
  expect(held.parts.map(({ token }) => typeof token)).toEqual(["bigint", "bigint"]);
  const any: LockProvider = locks;
  const mixed = multiLock([locks.mutex("a"), any.mutex("b")]);
  expectTypeOf<
    Awaited<ReturnType<typeof mixed.acquire>>["parts"][number]["token"]
  >().toEqualTypeOf<AnyToken>();
});
