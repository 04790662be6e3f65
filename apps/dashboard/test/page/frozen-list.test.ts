import { describe, expect, it } from "vitest";
import { apply, emptyList, lose, refresh, relist } from "../../page/src/live/frozen-list.js";
import type { LockRow } from "../../src/contract/api.js";

function row(id: string, readMs = 1, version = "v"): LockRow {
  const never = { atMs: null, provenance: "unknown" as const };
  return {
    id,
    cluster: "c",
    backend: "redis",
    key: id,
    kind: "mutex",
    libraries: [],
    state: "held",
    holders: [],
    holderCount: 0,
    waiterCount: 0,
    waiterUnit: "participants",
    oldestWait: never,
    oldestHold: never,
    token: null,
    limit: null,
    version,
    readMs,
    denied: null,
  };
}
const rows = (ids: string, readMs = 1): LockRow[] => [...ids].map((id) => row(id, readMs));
const shown = (list: { rows: readonly LockRow[] }): string => list.rows.map(({ id }) => id).join("");

describe("a list that is not frozen", () => {
  it("is what the server gave last", () => {
    const list = relist(relist(emptyList, rows("abc"), false), rows("cab"), false);
    expect(shown(list)).toBe("cab");
    expect(list.pending).toBe(0);
  });
});

describe("a frozen list", () => {
  const before = relist(emptyList, rows("abcd"), false);

  it("is filled although it is frozen, when it was empty", () => {
    expect(shown(relist(emptyList, rows("ab"), true))).toBe("ab");
  });
  it("keeps its order and its rows, and counts what waits", () => {
    const list = relist(before, rows("dabe", 2), true);
    expect(shown(list)).toBe("abcd");
    // d, a and b have other places, e is new, and c goes.
    expect(list.pending).toBe(5);
    expect(shown(apply(list))).toBe("dabe");
    expect(apply(list).pending).toBe(0);
  });
  it("counts one that goes as one, although others move up", () => {
    expect(relist(before, rows("bcd"), true).pending).toBe(1);
  });
  it("shows what is new of each row in its place", () => {
    const list = relist(before, [row("d", 2, "new"), ...rows("abc", 2)], true);
    expect(list.rows.map(({ version }) => version)).toEqual(["v", "v", "v", "new"]);
    expect(refresh(list, [row("b", 3, "newer")]).rows[1]?.version).toBe("newer");
  });
  it("has nothing waiting when the order is the same again", () => {
    const list = relist(relist(before, rows("dcba", 2), true), rows("abcd", 3), true);
    expect(list).toMatchObject({ pending: 0, next: null });
  });
  it("applies with what the stream has brought meanwhile", () => {
    const list = refresh(relist(before, rows("ba", 2), true), [row("a", 3, "newer")]);
    expect(apply(list).rows.map(({ id, version }) => `${id} ${version}`)).toEqual(["b v", "a newer"]);
  });
});

describe("rows that are gone", () => {
  const before = relist(emptyList, rows("abc"), false);

  it("stay in their place, marked, until the list is made anew", () => {
    const list = lose(before, ["b", "z"]);
    expect(shown(list)).toBe("abc");
    expect([...list.gone]).toEqual(["b"]);
    expect(list.pending).toBe(1);
    expect(shown(apply(list))).toBe("ac");
  });
  it("are there again when the stream says so", () => {
    expect(refresh(lose(before, ["b"]), [row("b", 2)]).gone.size).toBe(0);
  });
});

describe("an answer that was overtaken by an event", () => {
  it("does not bring the older row back", () => {
    const list = relist(emptyList, [row("a", 5, "new")], false);
    expect(relist(list, [row("a", 4, "old")], true).rows[0]?.version).toBe("new");
  });
});

describe("a row of the stream", () => {
  it("is shown though its clock is behind the shown one, as the server's clock may have been set back", () => {
    const list = relist(
      relist(emptyList, [row("a", 5), row("b", 5)], false),
      [row("b", 6), row("a", 6)],
      true,
    );
    const later = refresh(list, [row("a", 4, "later")]);
    expect(later.rows[0]?.version).toBe("later");
    expect(apply(later).rows[1]?.version).toBe("later");
  });
});
