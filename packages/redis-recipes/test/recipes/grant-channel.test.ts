import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test, vi } from "vitest";
import type { Subscription } from "../../src/client/redis-line.js";
import { GrantChannel } from "../../src/recipes/queue/grant-channel.js";

type Parts = ConstructorParameters<typeof GrantChannel>[0];

/** A channel whose subscription never succeeds, and the number of requests that have waited for it. */
function waiting(state: "connected" | "connecting") {
  const ready = new Promise<void>(() => {});
  const reactions = vi.spyOn(ready, "then");
  const subscription: Subscription = { live: false, ready, end: () => {} };
  const runtime = simulatedRuntime(1);
  const requests = { runtime, line: { state, subscribe: () => subscription } };
  const parts = { requests, owners: { uuid: "u" } } as unknown as Parts;
  const channel = new GrantChannel(parts, () => {});
  channel.listen();
  let waited = 0;
  const ask = (): void => {
    channel.subscribed().then(
      () => {
        waited += 1;
      },
      () => {},
    );
  };
  return { runtime, reactions, ask, waited: () => waited };
}

test("a channel that is denied is waited for once, and keeps none of the requests after that", async () => {
  const { runtime, reactions, ask, waited } = waiting("connected");
  ask();
  await runtime.advance(999);
  expect(waited()).toBe(0);
  await runtime.advance(1);
  expect(waited()).toBe(1);
  const before = reactions.mock.calls.length;
  for (let each = 0; each < 100; each++) ask();
  await runtime.advance(0);
  expect(waited()).toBe(101);
  expect(reactions).toHaveBeenCalledTimes(before);
});

test("while there is no connection, each request waits for the channel", async () => {
  const { runtime, ask, waited } = waiting("connecting");
  for (const nth of [1, 2]) {
    ask();
    await runtime.advance(999);
    expect(waited()).toBe(nth - 1);
    await runtime.advance(1);
    expect(waited()).toBe(nth);
  }
});
