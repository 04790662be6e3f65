import { expect, test } from "vitest";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexCancel } from "../../src/scripts/mutex/cancel.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { renew } from "../../src/scripts/mutex/renew.js";
import { checkedIds } from "../../src/scripts/permit/answers.js";
import { readRelease } from "../../src/scripts/read-write/read-release.js";
import { writeCancel } from "../../src/scripts/read-write/write-cancel.js";
import { writeRelease } from "../../src/scripts/read-write/write-release.js";
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
  [1, 5],
  [1, "5", 1],
  [1, 5, 1, 1],
  [1.5, 5, 1],
  ["handed", 1, "", ""],
])("an acquire does not take %j for an answer", (raw) => {
  expect(() => mutexAcquire.parse(raw)).toThrow(ReplyShapeError);
});

test("an answer of one number is the time: the token of a whole lease, or when a hold was handed over; or 1, where nothing waits", () => {
  expect(mutexAcquire.parse(1_500_000)).toEqual({
    status: "granted",
    serverMs: 1500,
    token: 1_500_000n,
    pttlMs: Infinity,
  });
  expect(mutexRelease.parse(1)).toEqual({ status: "freed", serverMs: 0, publishError: "" });
  for (const { parse } of [mutexRelease, mutexCancel, writeRelease, writeCancel, readRelease]) {
    expect(parse(1_500_000)).toEqual({ status: "handed", serverMs: 1500, publishError: "" });
    for (const raw of [0, -1, 1.5, 2 ** 53]) expect(() => parse(raw)).toThrow(ReplyShapeError);
  }
  // Only a release that did not look at the clock has an answer without a time.
  expect(() => mutexCancel.parse(1)).toThrow(ReplyShapeError);
  // A grant by a heartbeat has the claim lease, and its answer says how much of it is left.
  expect(() => mutexHeartbeat.parse([1_500_000])).toThrow(ReplyShapeError);
});

test("answers are read as they are sent", () => {
  expect(mutexAcquire.parse(["granted", 1_500_000, "5", 10])).toEqual({
    status: "granted",
    serverMs: 1500,
    token: 5n,
    pttlMs: 10,
  });
  expect(mutexAcquire.parse([1_500_000, 5, 3])).toEqual({
    status: "queued",
    serverMs: 1500,
    holderPttlMs: -1,
    holder: "",
    lastToken: 5n,
    position: 3,
    appended: true,
  });
  // The answer to a heartbeat says of each place who holds.
  expect(() => mutexHeartbeat.parse([[1_500_000, 5, 3]])).toThrow(ReplyShapeError);
  expect(mutexRelease.parse(["gone", 2_000])).toEqual({ status: "gone", serverMs: 2 });
  expect(mutexRelease.parse(["handed", 2_000, "NOPERM"])).toEqual({
    status: "handed",
    serverMs: 2,
    publishError: "NOPERM",
  });
  expect(mutexHeartbeat.parse([["late", 1_000]])).toEqual([{ status: "late", serverMs: 1 }]);
  expect(() => mutexHeartbeat.parse("x")).toThrow(ReplyShapeError);
  expect(() => renew.parse([["kept", 1]])).toThrow(ReplyShapeError);
});

test("a permit id is 32 hex digits, or it never gets to a script", () => {
  expect(() => checkedIds(["0".repeat(31)])).toThrow(RangeError);
  expect(() => checkedIds([`${"0".repeat(31)}G`])).toThrow(RangeError);
  expect(checkedIds(["0123456789abcdef".repeat(2)])).toHaveLength(1);
});
