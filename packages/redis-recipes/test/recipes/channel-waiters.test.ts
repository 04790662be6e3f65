import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test, vi } from "vitest";
import type { RedisLine, Subscription } from "../../src/client/redis-line.js";
import { ChannelWaiters } from "../../src/recipes/channels/channel-waiters.js";

test("however many wait for a channel that is denied, one after the other, none is kept once it has left", async () => {
  let arrive = (): void => {};
  const ready = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const reactions = vi.spyOn(ready, "then");
  const subscription: Subscription = { live: false, ready, end: () => {} };
  const line = { subscribe: () => subscription, onRenewed: () => () => {} };
  const waiters = new ChannelWaiters(line as unknown as RedisLine, simulatedRuntime(1));
  const heard: number[] = [];
  let leave = (): void => {};
  for (let each = 0; each < 100; each++) {
    const wake = (): void => {};
    const next = waiters.enter("c", "redisson", "all", { size: 1, ready: () => heard.push(each), wake });
    leave();
    leave = next;
  }
  expect(reactions).toHaveBeenCalledTimes(1);
  arrive();
  await Promise.resolve();
  expect(heard).toEqual([99]);
});
