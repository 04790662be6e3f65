import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test } from "vitest";
import { stayingRounds } from "../../src/recipes/queue/staying-waits.js";
import type { Requests } from "../../src/recipes/requests/requests.js";
import { settings } from "./simulated-client.js";

type Run = { readonly args: readonly (string | number)[] };

test.each([1, 200, 1_504, 3_200])(
  "%d waiters of one client behind the first have each look in each round of eight, in whatever company",
  async (count) => {
    const runtime = simulatedRuntime(1);
    const looksOf = new Map<string, Set<string>>();
    const line = {
      slotOf: () => null,
      runAll: (_script: unknown, runs: readonly Run[]) =>
        runs.map(async ({ args }) => {
          const [, look, many, ...owners] = args as [number, string, number, ...string[]];
          expect(owners).toHaveLength(many);
          for (const owner of owners) looksOf.set(owner, (looksOf.get(owner) ?? new Set()).add(look));
          const reply = { serverMs: 0, stays: owners.map(() => true) };
          return { reply, sentMs: 0, answeredMs: 0, runId: "r", acknowledged: null };
        }),
    };
    const requests = { line, runtime, settings, noteClock: () => {} } as unknown as Requests;
    const rounds = stayingRounds(requests, () => {});
    const lock = { key: "orders", stayKeys: ["orders", "waiters", "alive"] } as never;
    for (let at = 0; at < count; at++) rounds.add({ wait: { owner: `owner-${at}`, lock, queued: true } });
    await runtime.advance(8 * settings.aliveMs);
    expect(looksOf.size).toBe(count);
    for (const looks of looksOf.values()) expect([...looks].sort()).toEqual(["first", "life", "lock"]);
    rounds.close();
  },
);

test("a waiter looks for a dead first waiter in each four periods", async () => {
  const runtime = simulatedRuntime(1);
  const seen: string[] = [];
  const line = {
    slotOf: () => null,
    runAll: (_script: unknown, runs: readonly Run[]) =>
      runs.map(async ({ args }) => {
        seen.push(String(args[1]));
        return {
          reply: { serverMs: 0, stays: [true] },
          sentMs: 0,
          answeredMs: 0,
          runId: "r",
          acknowledged: null,
        };
      }),
  };
  const requests = { line, runtime, settings, noteClock: () => {} } as unknown as Requests;
  const rounds = stayingRounds(requests, () => {});
  const lock = { key: "orders", stayKeys: ["orders", "waiters", "alive"] } as never;
  rounds.add({ wait: { owner: "owner-1", lock, queued: true } });
  await runtime.advance(24 * settings.aliveMs);
  rounds.close();
  const apart = seen
    .map((look) => (look === "first" ? "|" : "."))
    .join("")
    .split("|");
  expect(Math.max(...apart.slice(1, -1).map(({ length }) => length + 1))).toBe(4);
});
