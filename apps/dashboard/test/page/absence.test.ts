import { describe, expect, it } from "vitest";
import {
  noHolderWord,
  nothingListed,
  notKnownNow,
  noWaitWord,
  whyNoEffects,
  whyNoHolders,
  whyNoWaiters,
} from "../../page/src/format/absence.js";
import type { ClusterRow, LockDetail, LockRow } from "../../src/contract/api.js";
import { rowOf } from "../../src/core/rows.js";
import { fakeLock } from "../fake-collector.js";

function detail(lock: Partial<LockRow>, more: Partial<LockDetail> = {}): LockDetail {
  return {
    nowMs: 1,
    lock: { ...rowOf("zoo", fakeLock({ key: "/locks/a" })), ...lock },
    waiters: [],
    fromMemory: false,
    contacts: [],
    raw: [],
    explain: [],
    findings: [],
    actions: [],
    ...more,
  };
}

describe("an empty queue on a lock's page", () => {
  it("is called empty only where the backend was read and has no waiters", () => {
    expect(whyNoWaiters(detail({}))).toBe("No waiters.");
    const unread: LockDetail[] = [
      detail({ waiterCount: 2 }, { fromMemory: true }),
      detail({ waiterCount: 0 }, { fromMemory: true }),
      detail({ waiterCount: 0, waiterUnit: "hidden" }, { fromMemory: true }),
      detail({ waiterCount: 3, waiterUnit: "connections" }, { fromMemory: true }),
      detail({ denied: "the right to read is missing" }),
      detail({ waiterCount: 2 }),
    ];
    for (const each of unread) expect(whyNoWaiters(each)).not.toBe("No waiters.");
  });

  it("says how many waited when its backend could be read last", () => {
    expect(whyNoWaiters(detail({ waiterCount: 2 }, { fromMemory: true }))).toBe(
      "Its backend cannot be read now, so who waits is not known. At the last reading: 2 waiters.",
    );
    expect(
      whyNoWaiters(detail({ waiterCount: 3, waiterUnit: "connections" }, { fromMemory: true })),
    ).toContain("At the last reading: 3 connections subscribed");
  });
});

describe("a lock's page without a holder", () => {
  it("says that the lock is free only where the backend was read", () => {
    expect(whyNoHolders(detail({}))).toBe("Not held.");
    expect(whyNoHolders(detail({}, { fromMemory: true }))).toBe(
      "Its backend cannot be read now. When it could be read last, it was not held.",
    );
    expect(whyNoHolders(detail({ denied: "the right to read is missing" }))).toBe(
      "Who holds it cannot be read.",
    );
  });

  it("does not say that it was free where holders are counted and not named", () => {
    const unnamed: Partial<LockRow>[] = [
      { kind: "permit-semaphore", backend: "redis", state: "held", holderCount: 3 },
      { kind: "semaphore", backend: "redis", state: "idle", holderCount: 0 },
    ];
    for (const each of unnamed)
      expect(whyNoHolders(detail(each, { fromMemory: true }))).not.toContain("was not held");
  });
});

describe("what an action would do, where it is not offered", () => {
  it("is called nothing only where the backend was read", () => {
    expect(whyNoEffects(detail({}))).toMatch(/no longer there\.$/);
    expect(whyNoEffects(detail({}, { fromMemory: true }))).toBe(
      "Its backend cannot be read now, so what this would do is not known.",
    );
  });
});

it("a longest wait is called none only where waiters could be seen and there are none", () => {
  expect([noWaitWord(0), noWaitWord(2), noWaitWord(0, true)]).toEqual(["none", "unknown", "hidden"]);
});

it("a page of the audit without a row of the cluster says that older pages may have some", () => {
  expect(nothingListed(true, false)).toMatch(/^None on this page/);
  expect([nothingListed(false, false), nothingListed(false, true)]).toEqual([
    "No actions yet",
    "Nothing older",
  ]);
});

describe("a list without holders, locks or waits", () => {
  const row = (more: Partial<LockRow>): LockRow => ({ ...detail({}).lock, ...more });

  it("says none of a lock that is known to be idle, and of no other", () => {
    expect(noHolderWord(row({ state: "idle" }), false)).toBe("none");
    expect(noHolderWord(row({ state: "idle" }), true)).toBe("not known now");
    expect(noHolderWord(row({ state: "held", kind: "semaphore" }), false)).toBe("not known");
    expect(noHolderWord(row({ denied: "the right to read is missing" }), false)).toBe("not readable");
  });

  it("proves nothing while a cluster is not known as it is now", () => {
    const cluster = (name: string, state: ClusterRow["state"]): ClusterRow => ({
      name,
      backend: "redis",
      state,
      locks: 0,
      coverage: 1,
      lastSuccessMs: 1,
      sources: [],
      schedules: false,
    });
    expect(notKnownNow([cluster("a", "ok"), cluster("b", "stale"), cluster("c", "down")])).toEqual([
      "b is stale",
      "c is down",
    ]);
    expect(notKnownNow([cluster("a", "ok")])).toEqual([]);
  });
});
