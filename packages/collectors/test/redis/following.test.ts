import { expect, test } from "vitest";
import type { CollectorEvent } from "../../src/index.js";
import { Book } from "../../src/redis/book.js";
import { followHolders } from "../../src/redis/following.js";
import { LockRecord } from "../../src/redis/lock-record.js";
import type { Reading, Shape } from "../../src/redis/reading.js";

const holder = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566:1";

/**
 * Readings of one lock, as [moment, time left of the lease, the moment by the monotonic clock where it is another]. The last
 * one finds the lock gone. Returns the event of its end.
 * `blurMs`: how long each answer was on its way.
 */
function releaseOf(
  readings: readonly (readonly [atMs: number, leftMs: number, readMs?: number])[],
  contactSinceMs = 0,
  blurMs = 0,
): Extract<CollectorEvent, { type: "granted" | "released" }> | undefined {
  const record = new LockRecord("k", null);
  const events: CollectorEvent[] = [];
  for (const [at, [atMs, leftMs, readMs = atMs]] of readings.entries()) {
    const gone = at === readings.length - 1;
    const shape: Shape = gone
      ? { is: "nothing" }
      : { is: "lock", fields: [{ field: holder, count: 1 }], mode: null };
    const reading: Reading = {
      key: "k",
      atMs,
      readMs,
      blurMs,
      depth: "slim",
      shape,
      leftMs,
      token: null,
      denied: null,
      beside: null,
    };
    followHolders(record, reading, true, {
      emit: (event) => events.push(event),
      identityOf: () => null,
      contactSinceMs: () => contactSinceMs,
      watchedSinceMs: () => Number.POSITIVE_INFINITY,
      earlierSight: () => undefined,
    });
    record.date(reading);
  }
  return events.find((event) => event.type === "released") as
    | Extract<CollectorEvent, { type: "granted" | "released" }>
    | undefined;
}

test("where readings have a part of the readers each, none that is not in the part is reported as ended, or as granted later", () => {
  const record = new LockRecord("k", null);
  const events: CollectorEvent[] = [];
  const [early, late] = [holder, holder.replace(/1$/, "2")];
  for (const [atMs, field] of [early, late, early].entries())
    followHolders(
      record,
      {
        ...{ key: "k", atMs, readMs: atMs, blurMs: 0, depth: "slim", leftMs: 900, token: null },
        ...{ denied: null, beside: null },
        shape: { is: "lock", fields: [{ field, count: 1 }], mode: "read", partly: true },
      },
      atMs > 0,
      {
        emit: (event) => events.push(event),
        identityOf: () => null,
        contactSinceMs: () => 0,
        watchedSinceMs: () => Number.POSITIVE_INFINITY,
        earlierSight: () => undefined,
      },
    );
  expect(events.map(({ type }) => type)).toEqual(["found", "unwatched", "found", "unwatched", "found"]);
});

function endOf(...readings: readonly (readonly [atMs: number, leftMs: number])[]): boolean | undefined {
  return releaseOf(readings)?.ranOut;
}

test("a hold that was seen in its last moment, and is gone after its end, ran out", () => {
  expect(endOf([0, 1_500], [900, 600], [1_500, -2])).toBe(true);
});

test("one that is gone before its end was given back", () => {
  expect(endOf([0, 1_500], [900, 600], [1_499, -2])).toBe(false);
});

test("one that was not looked at for long before its end may have been given back", () => {
  expect(endOf([0, 30_000], [40_000, -2])).toBe(false);
});

test("a hold that used to be raised, and was not in time, ran out however long it was not looked at", () => {
  const raised = [
    [0, 30_000],
    [10_100, 29_900],
    [20_200, 29_900],
    [30_300, 29_900],
  ] as const;
  // The hold was due to be raised at 40,400, a third of the lease after 30,300. It was not raised by 47,000 either.
  expect(endOf(...raised, [47_000, 13_200], [61_000, -2])).toBe(true);
  expect(endOf(...raised, [31_000, 29_200], [61_000, -2])).toBe(false);
});

test("one without an end never runs out", () => {
  expect(endOf([0, -1], [100_000, -2])).toBe(false);
});

const parts = {
  identityOf: () => ({ label: "billing", host: "h1", pid: 7 }),
  contactSinceMs: () => 0,
  watchedSinceMs: () => Number.POSITIVE_INFINITY,
  earlierSight: () => undefined,
};

test("the end of a hold is a release while its lease had time left, an expiry when it ran out, and else unknown", () => {
  expect(
    releaseOf([
      [0, 30_000],
      [1_000, -2],
    ])?.end,
  ).toBe("released");
  expect(
    releaseOf([
      [0, 1_500],
      [900, 600],
      [1_500, -2],
    ])?.end,
  ).toBe("expired");
  expect(
    releaseOf([
      [0, 30_000],
      [40_000, -2],
    ])?.end,
  ).toBe("unknown");
  expect(
    releaseOf([
      [0, -1],
      [40_000, -2],
    ])?.end,
  ).toBe("released");
});

test("a hold that may have run out while the answer about its last moment was on its way was not released for certain", () => {
  const readings = [
    [0, 1_500],
    [1_000, 510],
    [1_500, -2],
  ] as const;
  expect(releaseOf(readings, 0, 9)?.end).toBe("released");
  expect(releaseOf(readings, 0, 10)).toMatchObject({ end: "expired", ranOut: true });
});

test("a hold whose lease may have run out while the machine was suspended was not released for certain", () => {
  const end = (atMs: number, readMs: number) =>
    releaseOf([
      [0, 20_000],
      [atMs, -2, readMs],
    ])?.end;
  expect(end(19_999, 500)).toBe("released");
  expect(end(60_000, 500)).toBe("unknown");
  // The wall clock was set back.
  expect(end(500, 60_000)).toBe("unknown");
});

test("what is gone after an interruption of the connection may have been lost by the server: its end is unknown", () => {
  expect(
    releaseOf(
      [
        [0, 30_000],
        [1_000, -2],
      ],
      500,
    )?.end,
  ).toBe("unknown");
});

/** The event of a reading that finds the lock held by `holder`. `first`: the waiter that was first in the list before, if any. */
function grantTo(
  first: string | null,
  token: string | null,
  earlier?: { atMs: number; token: string | null },
) {
  const record = new LockRecord("k", null);
  const events: CollectorEvent[] = [];
  if (first !== null) {
    record.queue = { ours: 1, java: 0, first, since: { atMs: 400, provenance: "at-least" } };
  }
  const reading: Reading = {
    ...{
      key: "k",
      atMs: 1_000,
      readMs: 0,
      blurMs: 0,
      depth: "slim",
      leftMs: 30_000,
      token,
      denied: null,
      beside: null,
    },
    shape: { is: "lock", fields: [{ field: holder, count: 1 }], mode: null },
  };
  followHolders(record, reading, first !== null, {
    ...parts,
    earlierSight: () => earlier,
    emit: (event) => events.push(event),
  });
  return events[0];
}

test("a grant to the first in the list reports how long it had waited there, and to another it does not", () => {
  expect(grantTo(holder, null)).toMatchObject({
    type: "granted",
    waitedMs: 600,
    owner: { identity: { label: "billing" } },
  });
  expect(grantTo("0c1b9c2e-3b0a-4c5d-9e6f-112233445566:2", null)).not.toHaveProperty("waitedMs");
});

const ofOurs = "0c1b9c2e-3b0a-8c5d-9e6f-112233445566:1";

test("a grant that a reading finds is not exact, because it may be older; one whose token shows its time is", () => {
  const atMs = 1_700_000_000_500;
  const grant = (field: string, token: string | null): CollectorEvent | undefined => {
    const events: CollectorEvent[] = [];
    followHolders(
      new LockRecord("k", null),
      {
        ...{ key: "k", atMs, readMs: 0, blurMs: 0, depth: "slim", leftMs: 30_000, token },
        ...{ denied: null, beside: null },
        shape: { is: "lock", fields: [{ field, count: 1 }], mode: null },
      },
      true,
      { ...parts, emit: (event) => events.push(event) },
    );
    return events[0];
  };
  expect(grant(holder, null)).toMatchObject({ type: "granted", atMs, exact: false });
  expect(grant(ofOurs, "1700000000000123")).toMatchObject({ type: "granted", atMs: atMs - 500, exact: true });
});

test("a hold that was there before is as old as an earlier process has seen it only where the token is the same", () => {
  const record = new LockRecord("k", null);
  const found = (token: string, earlierToken: string | null) => {
    const events: CollectorEvent[] = [];
    const reading: Reading = {
      ...{
        key: "k",
        atMs: 1_000,
        readMs: 0,
        blurMs: 0,
        depth: "slim",
        leftMs: 30_000,
        token,
        denied: null,
        beside: null,
      },
      shape: { is: "lock", fields: [{ field: ofOurs, count: 1 }], mode: "read" },
    };
    followHolders(Object.assign(record, { shape: { is: "nothing" } }), reading, false, {
      ...parts,
      earlierSight: () => ({ atMs: 10, token: earlierToken }),
      emit: (event) => events.push(event),
    });
    return events[0];
  };
  expect(found("5", "5")).toMatchObject({ type: "found", since: { atMs: 10, provenance: "at-least" } });
  expect(found("5", "4")).toMatchObject({ type: "found", since: { atMs: 1_000, provenance: "at-least" } });
  // A hold of Redisson has no token of its own.
  expect(grantTo(null, null, { atMs: 10, token: null })).toMatchObject({
    type: "found",
    since: { atMs: 1_000 },
  });
});

test("a hold of a lock that is new was granted where its token is younger than the first look at all keys, and else found", () => {
  const grantMs = 1_795_000_000_000;
  const told = (field: string, token: string | null, watchedSinceMs: number) => {
    const events: CollectorEvent[] = [];
    const reading: Reading = {
      ...{
        key: "k",
        atMs: grantMs + 900,
        readMs: 0,
        blurMs: 0,
        depth: "slim",
        leftMs: 30_000,
        token,
        denied: null,
      },
      ...{ beside: null, shape: { is: "lock", fields: [{ field, count: 1 }], mode: null } },
    };
    followHolders(new LockRecord("k", null), reading, false, {
      ...{ ...parts, watchedSinceMs: () => watchedSinceMs },
      emit: (event) => events.push(event),
    });
    return events;
  };
  const token = `${grantMs}000`;
  expect(told(ofOurs, token, grantMs)).toMatchObject([{ type: "granted", atMs: grantMs, token }]);
  expect(told(ofOurs, token, grantMs + 1)).toMatchObject([{ type: "found", since: { atMs: grantMs } }]);
  // `holder` is an owner of Redisson, whose grants have no token.
  expect(told(holder, token, 0)).toMatchObject([{ type: "found" }]);
  expect(told(holder, null, 0)).toMatchObject([{ type: "found" }]);
});

test("readings are taken in their order by the clock that never steps, though the wall clock was set back", () => {
  const book = new Book({
    listeners: () => undefined,
    listening: () => true,
    emit: () => {},
    attended: () => true,
    identityOf: () => null,
    contactSinceMs: () => 0,
    watchedSinceMs: () => 0,
    earlierSight: () => undefined,
  });
  const read = (readMs: number, atMs: number, field: string) =>
    book.apply({
      ...{ key: "k", atMs, readMs, blurMs: 0, depth: "slim", leftMs: 30_000, token: null, denied: null },
      ...{ beside: null, shape: { is: "lock", fields: [{ field, count: 1 }], mode: null } },
    })?.followed[0]?.field;
  const other = holder.replace(/1$/, "2");
  expect(read(1_000, 600_000, holder)).toBe(holder);
  expect(read(2_000, 1_000, other)).toBe(other);
  expect(read(1_500, 900_000, holder)).toBe(other);
});

test("of a hold whose key becomes that of no lock no end is reported, but that it is no longer looked at", () => {
  const events: CollectorEvent[] = [];
  const book = new Book({
    ...parts,
    listeners: () => undefined,
    listening: () => true,
    emit: (event) => events.push(event),
    attended: () => true,
  });
  const read = (atMs: number, shape: Shape) =>
    book.apply({
      ...{ key: "k", atMs, readMs: atMs, blurMs: 0, depth: "slim", leftMs: 30_000, token: null },
      ...{ denied: null, beside: null, shape },
    });
  read(1_000, { is: "lock", fields: [{ field: holder, count: 1 }], mode: null });
  events.length = 0;
  read(2_000, { is: "other", what: "no number" });
  expect(events).toEqual([
    { type: "unwatched", key: "k", entry: holder },
    { type: "removed", key: "k" },
  ]);
  expect(book.records.size).toBe(0);
});

test("a hold that can be read again after its key could not be is found, and is not granted a second time", () => {
  const events: CollectorEvent[] = [];
  const book = new Book({
    ...{ ...parts, watchedSinceMs: () => 0 },
    listeners: () => undefined,
    listening: () => true,
    emit: (event) => events.push(event),
    attended: () => true,
  });
  const atMs = 1_795_000_000_900;
  const read = (shape: Shape, token: string | null) =>
    book.apply({
      ...{ key: "k", atMs, readMs: 0, blurMs: 0, depth: "slim", leftMs: 30_000, token },
      ...{ denied: null, beside: null, shape },
    });
  const held: Shape = { is: "lock", fields: [{ field: ofOurs, count: 1 }], mode: null };
  const refused: Shape = { is: "other", what: "NOPERM" };
  read(held, "1795000000000000");
  read(refused, null);
  read(held, "1795000000000000");
  read(refused, null);
  // Another grant was made meanwhile.
  read(held, "1795000000000001");
  expect(events.map(({ type }) => type).filter((type) => type === "granted" || type === "found")).toEqual([
    "granted",
    "found",
    "granted",
  ]);
});
