import { expect, test } from "vitest";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { renew } from "../../src/scripts/mutex/renew.js";
import { checkedIds } from "../../src/scripts/permit/answers.js";
import { ReplyShapeError } from "../../src/scripts/script.js";

test.each([
  null,
  "OK",
  0,
  -1,
  1.5,
  2 ** 53,
  [],
  ["granted", 1],
  ["granted", 1, 5, 10],
  ["granted", 1, "5", "10"],
  ["granted", 1, "-5", 10],
  ["granted", 1, "5", 10, 0],
  ["granted", "1", "5", 10],
  ["queued", 1, 10, "u:1", "5"],
  ["handed", 1, "", ""],
])("an acquire does not take %j for an answer", (raw) => {
  expect(() => mutexAcquire.parse(raw)).toThrow(ReplyShapeError);
});

test("only an acquire and a release have an answer of one number: the time as token of a whole lease, and that nothing waits", () => {
  expect(mutexAcquire.parse(1_500_000)).toEqual({
    status: "granted",
    serverMs: 1500,
    token: 1_500_000n,
    pttlMs: Infinity,
  });
  expect(mutexRelease.parse(1)).toEqual({ status: "freed", serverMs: 0, next: "", publishError: "" });
  expect(() => mutexRelease.parse(2)).toThrow(ReplyShapeError);
  // A grant that a heartbeat has made has the claim lease, and says how much of it.
  expect(() => mutexHeartbeat.parse([1_500_000])).toThrow(ReplyShapeError);
});

test("answers are read as they are sent", () => {
  expect(mutexAcquire.parse(["granted", 1_500_000, "5", 10])).toEqual({
    status: "granted",
    serverMs: 1500,
    token: 5n,
    pttlMs: 10,
  });
  expect(mutexRelease.parse(["gone", 2_000])).toEqual({ status: "gone", serverMs: 2 });
  expect(mutexHeartbeat.parse([["late", 1_000]])).toEqual([{ status: "late", serverMs: 1 }]);
  expect(() => mutexHeartbeat.parse("x")).toThrow(ReplyShapeError);
  expect(() => renew.parse([["kept", 1]])).toThrow(ReplyShapeError);
});

test("a permit id is 32 hex digits, or it never gets to a script", () => {
  expect(() => checkedIds(["0".repeat(31)])).toThrow(RangeError);
  expect(() => checkedIds([`${"0".repeat(31)}G`])).toThrow(RangeError);
  expect(checkedIds(["0123456789abcdef".repeat(2)])).toHaveLength(1);
});
