import { inspect } from "node:util";
import { memoryLocks } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { expect, it } from "vitest";

it("the handle of several locks shows each of them in a log and in JSON", async () => {
  await using locks = memoryLocks();
  const held = await multiLock([locks.mutex("accounts/7"), locks.mutex("accounts/3")]).acquire();
  expect(inspect(held)).toMatch(/^MultiHandle \{.*parts: \[.*LockHandle \{.*name: 'accounts\/3'/s);
  expect(JSON.parse(JSON.stringify(held))).toMatchObject({
    name: "accounts/3, accounts/7",
    state: "held",
    token: null,
    parts: held.parts.map(({ name, token }) => ({ name, token: `${token}` })),
  });
});
