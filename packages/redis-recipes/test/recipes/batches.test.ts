import type { Runtime } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test } from "vitest";
import type { RedisLine, ScriptCall } from "../../src/client/redis-line.js";
import { Batches, type BatchKind } from "../../src/recipes/requests/batches.js";
import { ReplyShapeError, type Script } from "../../src/scripts/script.js";
import { settings } from "./simulated-client.js";

interface Echo {
  readonly serverMs: number;
  readonly said: string;
}

const script: Script<readonly Echo[]> = { name: "echo", lua: "", keyCount: 1, parse: () => [] };
const kind: BatchKind<string, Echo> = { script, limit: 10, args: (entries) => [...entries] };

/**
 * Answers each call after `late`. An entry `bad` spoils the answer of its call. `noted` receives the server times that were
 * noted.
 */
function batches(
  calls: string[][],
  { noted = [] as number[], runtime = simulatedRuntime(1) as Runtime, late = Promise.resolve() } = {},
): Batches {
  const told = { sentMs: 0, answeredMs: 0, runId: "run" };
  const line = {
    slotOf: () => null,
    runAll: (_script: unknown, runs: readonly ScriptCall[]) =>
      runs.map(async ({ args }) => {
        calls.push(args.map(String));
        await late;
        if (args.includes("bad")) return new ReplyShapeError("echo", "no token", args);
        return { ...told, reply: args.map((each) => ({ serverMs: 7, said: String(each) })) };
      }),
  };
  const noteClock = (serverMs: number): void => void noted.push(serverMs);
  const context = { settings, publish: "publish", notAfterMs: () => null, noteClock } as const;
  return new Batches({ ...context, line: line as unknown as RedisLine, runtime });
}

test("an entry whose answer cannot be read fails alone", async () => {
  const asked = batches([]);
  const all = await Promise.allSettled(["one", "bad", "two"].map((entry) => asked.ask(kind, ["k"], entry)));
  expect(all.map((each) => (each.status === "fulfilled" ? each.value.reply.said : each.reason.name))).toEqual(
    ["one", "ReplyShapeError", "two"],
  );
});

test("entries that count as several share calls by what they count", async () => {
  const calls: string[][] = [];
  const asked = batches(calls);
  const weighing = { ...kind, weightOf: (entry: string) => entry.length };
  const entries = ["aaaa", "bbbb", "cc", "d", "e".repeat(30), "f"];
  await Promise.all(entries.map((entry) => asked.ask(weighing, ["k"], entry)));
  expect(calls).toEqual([["aaaa", "bbbb", "cc"], ["d"], ["e".repeat(30)], ["f"]]);
});

test("the clock of the server is noted once for each call", async () => {
  const noted: number[] = [];
  const asked = batches([], { noted });
  await Promise.all(["one", "two", "three"].map((entry) => asked.ask(kind, ["k"], entry)));
  expect(noted).toEqual([7]);
});

test("answers that come together are handed out in several turns of the event loop", async () => {
  let nowMs = 0;
  let come = (): void => {};
  const late = new Promise<void>((resolve) => {
    come = resolve;
  });
  const asked = batches([], { runtime: { ...simulatedRuntime(1), nowMs: () => nowMs }, late });
  let told = 0;
  const entries = Array.from({ length: 5_000 }, (_, n) => String(n));
  const all = entries.map(async (entry) => {
    const { reply } = await asked.ask(kind, ["k"], entry);
    told++;
    nowMs += 0.02;
    return reply.said;
  });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  await turn();
  come();
  const turns: number[] = [];
  for (let before = 0; told < entries.length; before = told) {
    await turn();
    turns.push(told - before);
  }
  expect(Math.max(...turns)).toBeLessThanOrEqual(1_000);
  expect(await Promise.all(all)).toEqual(entries);
});

test("an entry is answered at once although an entry of the same flight, at another master, is not", async () => {
  const line = {
    slotOf: (key: string) => Number(key),
    runAll: (_script: unknown, runs: readonly ScriptCall[]) =>
      runs.map(({ keys, args }) => {
        const reply = args.map((each) => ({ serverMs: 7, said: String(each) }));
        const answer = { sentMs: 0, answeredMs: 0, runId: "run", reply };
        return keys.includes("1") ? new Promise(() => {}) : Promise.resolve(answer);
      }),
  };
  const context = { settings, publish: "publish", notAfterMs: () => null, noteClock: () => {} } as const;
  const asked = new Batches({
    ...context,
    line: line as unknown as RedisLine,
    runtime: simulatedRuntime(1),
  });
  const answered: string[] = [];
  for (const [key, entry] of [
    ["1", "slow"],
    ["2", "well"],
  ] as const) {
    void asked.ask(kind, [key], entry).then(({ reply }) => answered.push(reply.said));
  }
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(answered).toEqual(["well"]);
});
