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

/** Answers what was sent; `bad` spoils the answer of the call that it is in. `noted`: the server times that were. */
function batches(calls: string[][], noted: number[] = []): Batches {
  const told = { sentMs: 0, answeredMs: 0, runId: "run" };
  const line = {
    slotOf: () => null,
    runAll: async (_script: unknown, runs: readonly ScriptCall[]) =>
      runs.map(({ args }) => {
        calls.push(args.map(String));
        if (args.includes("bad")) return new ReplyShapeError("echo", "no token", args);
        return { ...told, reply: args.map((each) => ({ serverMs: 7, said: String(each) })) };
      }),
  };
  const noteClock = (serverMs: number): void => void noted.push(serverMs);
  const context = { settings, publish: "publish", notAfterMs: () => null, noteClock } as const;
  return new Batches({ ...context, line: line as unknown as RedisLine, runtime: simulatedRuntime(1) });
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
  const asked = batches([], noted);
  await Promise.all(["one", "two", "three"].map((entry) => asked.ask(kind, ["k"], entry)));
  expect(noted).toEqual([7]);
});
