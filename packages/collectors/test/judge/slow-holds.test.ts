import { describe, expect, it } from "vitest";
import { slowHold, slowHolds } from "../../src/judge/slow-holds.js";
import { participant } from "../../src/kit/participant.js";
import type { ObservedLock } from "../../src/observe/observed-lock.js";

const minute = 60_000;
const nowMs = 100 * minute;
const longHoldMs = 5 * minute;
const ago = (minutes: number, provenance: "exact" | "at-least" = "exact") => ({
  atMs: nowMs - minutes * minute,
  provenance,
});
const unknown = { atMs: null, provenance: "unknown" } as const;
const billing = participant({
  entry: "_c_765649ed-0000-4000-8000-000000000001-lock-0000000000",
  library: "holdfast",
  identity: { label: "billing-api", host: "billing-api", pid: 16747 },
});

function held(changed: Partial<ObservedLock> = {}): ObservedLock {
  return {
    key: "/orders",
    backend: "zookeeper",
    kind: "mutex",
    libraries: ["holdfast"],
    state: "contended",
    holders: [{ ...billing, since: ago(6) }],
    holderCount: 1,
    waiterCount: 2,
    waiterUnit: "participants",
    oldestHold: ago(6),
    oldestWait: ago(4.5),
    token: null,
    limit: null,
    version: "1",
    readMs: nowMs,
    denied: null,
    ...changed,
  };
}

const evidenceOf = (changed?: Partial<ObservedLock>): string | undefined =>
  slowHold(held(changed), longHoldMs, nowMs)?.evidence;

describe("a long hold", () => {
  it.each(["zookeeper", "redis"] as const)(
    "on %s with waiters is critical, and its sentence names people",
    (backend) => {
      expect(slowHold(held({ backend }), longHoldMs, nowMs)).toEqual({
        id: "stuck-with-waiters /orders",
        kind: "stuck-with-waiters",
        severity: "critical",
        object: "/orders",
        sinceMs: nowMs - minute,
        evidence: "Held for 6 min by billing-api (pid 16747); 2 waiting, longest 4 min.",
        advice: "Check what the holder is doing; ask it to release the lock before you force anything.",
      });
    },
  );

  it("without waiters is no more than a hint", () => {
    expect(slowHold(held({ waiterCount: 0, oldestWait: unknown }), longHoldMs, nowMs)).toMatchObject({
      kind: "long-hold",
      severity: "info",
      evidence: "Held for 6 min by billing-api (pid 16747); no waiters.",
    });
  });

  it("says at least where no more is known, and leaves out what is not known at all", () => {
    expect(evidenceOf({ oldestHold: ago(61, "at-least"), oldestWait: ago(2, "at-least") })).toBe(
      "Held for at least 1 h 1 min by billing-api (pid 16747); 2 waiting, longest at least 2 min.",
    );
    expect(evidenceOf({ waiterUnit: "connections", oldestWait: unknown })).toBe(
      "Held for 6 min by billing-api (pid 16747); at least 2 waiting.",
    );
    expect(evidenceOf({ waiterUnit: "hidden", waiterCount: 0, oldestWait: unknown })).toBe(
      "Held for 6 min by billing-api (pid 16747); waiters cannot be seen.",
    );
    expect(evidenceOf({ holders: [] })).toBe("Held for 6 min; 2 waiting, longest 4 min.");
  });

  it("of several holders names the one that has held for longest", () => {
    const young = participant({ entry: "young", library: "kazoo", since: ago(1) });
    expect(evidenceOf({ holders: [young, ...held().holders], holderCount: 3 })).toContain(
      "by billing-api (pid 16747) and 2 others; ",
    );
  });

  it("is none while it is young, of unknown age, or the term of a leader", () => {
    expect(slowHold(held({ oldestHold: ago(4.9) }), longHoldMs, nowMs)).toBeNull();
    expect(slowHold(held({ oldestHold: unknown }), longHoldMs, nowMs)).toBeNull();
    expect(slowHold(held({ kind: "leader-election" }), longHoldMs, nowMs)).toBeNull();
  });

  it("is found among all locks of a collector, a hundred at most", () => {
    const locks = new Map(
      Array.from({ length: 300 }, (_, at) => {
        const lock = held({ key: `l${at}`, ...(at % 2 === 0 ? { oldestHold: ago(1) } : {}) });
        return [lock.key, lock] as const;
      }),
    );
    const found = slowHolds({ figures: () => locks.values(), get: (key) => locks.get(key) }, longHoldMs);
    expect(found).toHaveLength(100);
    expect(found[0]).toMatchObject({ object: "l1", severity: "critical", sinceMs: nowMs - minute });
    expect(found[99]?.evidence).toMatch(/; and 50 more of this kind\.$/);
  });

  it("that others wait for is found behind any number of those without waiters", () => {
    const locks = Array.from({ length: 150 }, (_, at) => held({ key: `l${at}`, waiterCount: 0 }));
    locks.push(held({ key: "stuck" }));
    const get = (key: string) => locks.find((lock) => lock.key === key);
    const found = slowHolds({ figures: () => locks, get }, longHoldMs);
    expect(found).toHaveLength(101);
    expect(found.filter(({ severity }) => severity === "critical")).toMatchObject([{ object: "stuck" }]);
  });

  it("is as old as it was when its lock was read, which may be long ago where there is no contact", () => {
    const foundOf = (lock: ObservedLock) =>
      slowHolds({ figures: () => [lock], get: () => lock }, longHoldMs).map(({ evidence }) => evidence);
    expect(foundOf(held({ readMs: nowMs - 1.5 * minute }))).toEqual([]);
    expect(foundOf(held({ readMs: nowMs + 60 * minute, oldestHold: ago(-55) }))).toHaveLength(1);
  });
});
