import type { HoldInfo, LockSnapshot, ParticipantInfo, WaitInfo } from "@holdfast/core";
import { expect, test } from "vitest";
import { drawLock } from "../src/console/lock-picture.js";

const person = (about: Partial<ParticipantInfo>): ParticipantInfo => ({
  owner: null,
  label: null,
  mode: "exclusive",
  backendId: "/holdfast/order-stock/node",
  session: null,
  address: null,
  recognisedAs: "holdfast",
  sinceMs: { value: null, provenance: "unknown" },
  ...about,
});
const hold = (about: Partial<HoldInfo>): HoldInfo => ({
  ...person(about),
  token: 7n,
  holdCount: 1,
  heldByThisProvider: false,
  remainingMs: null,
  kept: false,
});
const wait = (about: Partial<ParticipantInfo>): WaitInfo => ({ ...person(about), position: 0 });
const snapshot = (parts: Partial<LockSnapshot>): LockSnapshot => ({
  name: "order-stock",
  takenAt: new Date(0),
  kind: "mutex",
  held: [],
  pending: [],
  pendingTotal: 0,
  ...parts,
});

test("holder with token, queue in order and stock are shown, and how many more wait", () => {
  const seen = snapshot({
    held: [hold({ label: "worker-2 host:11" })],
    pending: [wait({ label: "worker-1 host:12" }), wait({ label: "worker-3 host:13" })],
    pendingTotal: 6,
  });
  expect(drawLock(seen, 9, new Map()).line).toBe(
    "  holder: worker-2, token 7 | queue: worker-1, worker-3, 4 more | stock: 9",
  );
  expect(drawLock(seen, 9, new Map()).rows).toEqual([
    "  ┌ holder  worker-2, token 7",
    "  │ queue   worker-1, worker-3, 4 more",
    "  └ stock   9",
  ]);
});

test("a note stands behind the name it is about", () => {
  const seen = snapshot({ held: [hold({ label: "worker-1 host:11" })] });
  expect(drawLock(seen, 1, new Map([["worker-1", "stopped"]])).line).toContain("worker-1 (stopped), token 7");
});

test("a free lock has no holder and no queue", () => {
  expect(drawLock(snapshot({}), 0, new Map()).line).toBe("  holder: nobody | queue: nobody | stock: 0");
});

test("a participant without a label, such as a Java process, is shown by its address", () => {
  const seen = snapshot({ held: [hold({ address: "10.0.0.7", recognisedAs: "curator" })] });
  expect(drawLock(seen, 1, new Map()).line).toContain("holder: 10.0.0.7, token 7");
});
