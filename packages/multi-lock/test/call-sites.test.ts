import { memoryLocks } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { expect, it } from "vitest";

it("the stack of a wait for several locks that ran out names the function that called", async () => {
  await using locks = memoryLocks();
  const names = ["accounts/3", "accounts/7"];
  await locks.mutex("accounts/7").acquire();
  const both = multiLock(names.map((name) => locks.mutex(name)));
  async function transfer(): Promise<void> {
    await both.withLock({ waitMs: 20 }, () => {});
  }
  const error: unknown = await transfer().catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: "HF_ACQUIRE_TIMEOUT",
    stack: expect.stringMatching(/\n {4}at (async )?transfer /),
  });
});
