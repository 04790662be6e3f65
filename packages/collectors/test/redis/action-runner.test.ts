import type { Runtime } from "@holdfast/core";
import { NotSentError, OutcomeUnknownError, ReplyError } from "@holdfast/redis-recipes/internal";
import { expect, test } from "vitest";
import type { LockAction, ObservedLock } from "../../src/index.js";
import { ActionRunner } from "../../src/redis/action-runner.js";
import { actOn } from "../../src/redis/actions.js";
import { LeaseHistory } from "../../src/redis/lease-history.js";
import type { Link } from "../../src/redis/link.js";
import { LockRecord } from "../../src/redis/lock-record.js";
import { NoConnectionError } from "../../src/redis/outage.js";
import type { Places } from "../../src/redis/places.js";

const where = { servers: ["a:1"] };

/** A runner at one master, whose link opens at `opensMs` and answers with `answers` in turn, then with an empty list. */
function scene({ opensMs = 0, answers = [] as readonly Error[] }) {
  let nowMs = 0;
  const runtime = {
    nowMs: () => nowMs,
    setTimer: (delayMs: number, fn: () => void) => {
      nowMs += delayMs;
      queueMicrotask(fn);
      return () => {};
    },
  } as Partial<Runtime> as Runtime;
  const left = [...answers];
  const seen = { asked: 0, outdated: 0, nowMs: () => nowMs };
  const link = {
    name: "a:1",
    noConnection: new NoConnectionError({ text: "the connection was refused", refused: false }, ["a:1"]),
    get open() {
      return nowMs >= opensMs;
    },
    ask: async () => {
      seen.asked++;
      const error = nowMs < opensMs ? new NotSentError("there is no connection", where) : left.shift();
      if (error !== undefined) throw error;
      return [];
    },
  } as Partial<Link> as Link;
  const places = { clustered: false, masterOf: () => link, outdated: () => void seen.outdated++ };
  const settings = { fairLockWaitTimeoutMs: 300_000, db: 0 };
  const runner = new ActionRunner(places as Partial<Places> as Places, runtime, settings);
  return { runner, seen, act: () => runner.eval("key", "return {}", ["key"], []) };
}

test("an action waits for the master's link, and its script runs once", async () => {
  const { act, seen } = scene({ opensMs: 1_500 });
  await expect(act()).resolves.toEqual([]);
  expect(seen.asked).toBe(1);
});

test("an action without a master's link is refused after 5,000 ms, and its script was never sent", async () => {
  const { act, seen } = scene({ opensMs: 60_000 });
  await expect(act()).rejects.toMatchObject({ name: "NotSentError", message: /the connection was refused/ });
  expect(seen.asked).toBe(0);
  expect(seen.nowMs()).toBeGreaterThan(4_500);
  expect(seen.nowMs()).toBeLessThanOrEqual(5_000);
});

test("a script that was not sent is sent again", async () => {
  const { act, seen } = scene({ answers: [new NotSentError("there is no connection", where)] });
  await expect(act()).resolves.toEqual([]);
  expect(seen.asked).toBe(2);
});

test("a script of unknown outcome is not sent again", async () => {
  const { act, seen } = scene({ answers: [new OutcomeUnknownError("no answer", where)] });
  await expect(act()).rejects.toBeInstanceOf(OutcomeUnknownError);
  expect(seen.asked).toBe(1);
});

test("a script that a demoted master refused is sent to the next one, after who that is was asked anew", async () => {
  const { act, seen } = scene({ answers: [new ReplyError("READONLY You can't write", where)] });
  await expect(act()).resolves.toEqual([]);
  expect(seen).toMatchObject({ asked: 2, outdated: 1 });
});

test("a script that the server denies is not sent again", async () => {
  const { act, seen } = scene({ answers: [new ReplyError("NOPERM no", where)] });
  await expect(act()).rejects.toMatchObject({ kind: "denied" });
  expect(seen.asked).toBe(1);
});

test("a reading whose answer was lost is repeated", async () => {
  const { runner, seen } = scene({ answers: [new OutcomeUnknownError("no answer", where)] });
  await expect(runner.read("key", (link) => link.ask("get", "key"))).resolves.toEqual([]);
  expect(seen.asked).toBe(2);
});

test.each<LockAction>(["force-release", "request-revoke", "evict-waiter", "clean-orphan"])(
  "of a lock of whose holders only a part was read, %s is not supported and asks the server nothing",
  async (action) => {
    const { runner, seen } = scene({});
    const record = new LockRecord("key", null);
    record.kind = "read-write-lock";
    const lease = new LeaseHistory(30_000, 0);
    const holder = { field: "o", count: 1, since: { atMs: 0, provenance: "at-least" } as const, lease };
    record.shape = { is: "lock", fields: [holder], mode: "read", partly: true };
    const rowOf = () => ({ state: "held", version: "1" }) as ObservedLock;
    const act = actOn({ runner, reread: async () => record, rowOf, whoIs: (owner) => owner }, "key");
    const request = { action, key: "key", entry: "o", expectedVersion: "1", dryRun: false };
    expect(await act.attempt(request, record, rowOf())).toMatchObject({
      outcome: "unsupported",
      effects: [expect.stringContaining("only a part of them is read")],
      tried: false,
    });
    expect(seen.asked).toBe(0);
  },
);
