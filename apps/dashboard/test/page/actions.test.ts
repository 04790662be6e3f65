import { shownName } from "@holdfast/collectors/internal";
import { describe, expect, it } from "vitest";
import { asAction, confirmation, hindrance, offersEnd, outcomeOf } from "../../page/src/actions/words.js";
import { ApiFailure, refusalOf } from "../../page/src/api/failure.js";
import { rowOf } from "../../src/core/rows.js";
import { fakeLock, fakeParticipant } from "../fake-collector.js";

const ready = {
  action: "force-release" as const,
  key: "/locks/a",
  typed: "/locks/a",
  unknownLibrary: false,
  library: "",
  reason: "stuck",
  openMs: 2000,
  readAgoMs: 100,
};

describe("a forced release", () => {
  it("can be asked for when all is in place", () => {
    expect(hindrance(ready)).toBeNull();
  });
  it.each([
    ["the lock has not been read", { readAgoMs: null }],
    ["what is shown is older than 10 s", { readAgoMs: 10_001 }],
    ["no reason is given", { reason: " x " }],
    ["the name is not typed", { typed: "" }],
    ["the name is typed in other case", { typed: "/locks/A" }],
    ["the name has a space behind it", { typed: "/locks/a " }],
    ["no known library has made it, and that is not said", { unknownLibrary: true, library: "yes" }],
    ["the dialog has been open for less than 2 s", { openMs: 1999 }],
  ])("cannot when %s", (_, changed) => {
    expect(hindrance({ ...ready, ...changed })).toEqual(expect.any(String));
  });
});

describe("a name that cannot be typed as it is", () => {
  it.each(["/locks/a\nb", "order:\u202egnp.exe", "a\u200bb", "a\u00a0b", "a\tb", "a\ud800"])(
    "is confirmed as it is shown: %j",
    (key) => {
      const typed = shownName(key);
      expect(typed).toMatch(/^[ -~]+$/);
      expect(hindrance({ ...ready, key, typed })).toBeNull();
      expect(hindrance({ ...ready, key, typed: `${typed}x` })).toEqual(expect.any(String));
    },
  );
  it("is confirmed by the words that the dialog names, and by no others", () => {
    const key = "/locks/a\nb";
    expect(confirmation("force-release", key)).toBe("release lock");
    expect(confirmation("force-release", "/locks/a")).toBe("/locks/a");
    expect(hindrance({ ...ready, key, typed: "release lock" })).toBeNull();
    expect(hindrance({ ...ready, key, typed: "release" })).toEqual(expect.any(String));
    expect(hindrance({ ...ready, typed: "release lock" })).toEqual(expect.any(String));
    expect(hindrance({ ...ready, action: "evict-waiter", key, typed: "evict waiter" })).toBeNull();
  });
  it("is never shown as another name is", () => {
    const names = ["a\nb", "a\\u{a}b", "a\\u{5c}u{a}b", "a\\nb", "ab", "a b", "a\u00a0b"];
    expect(new Set(names.map(shownName)).size).toBe(names.length);
  });
});

describe("what is made by no known library", () => {
  it("takes a word more, to ask the holder too", () => {
    const unknown = { ...ready, action: "request-revoke" as const, unknownLibrary: true };
    expect(hindrance(unknown)).toContain("unknown");
    expect(hindrance({ ...unknown, library: "unknown" })).toBeNull();
  });
});

describe("a request to leave", () => {
  it("needs no typed name, but a reason", () => {
    expect(hindrance({ ...ready, action: "request-revoke", typed: "" })).toBeNull();
    expect(hindrance({ ...ready, action: "request-revoke", typed: "", reason: "" })).toEqual(
      expect.any(String),
    );
  });
});

describe("actions that are offered for the first holders and waiters alone", () => {
  const people = (count: number) =>
    Array.from({ length: count }, (_, at) => fakeParticipant({ entry: `e${at}` }));
  const end = (holders: number, waiters: number, acted: readonly string[]): string | null =>
    offersEnd({
      lock: rowOf("zoo", fakeLock({ key: "/locks/a", holders: people(holders) })),
      waiters: people(waiters).map((each) => ({ ...each, entry: `w${each.entry}` })),
      actions: acted.map((entry) => ({
        action: "evict-waiter",
        entry,
        role: "admin",
        effects: [],
        unknownLibrary: false,
      })),
    });

  it("are said to be so where there are more than those", () => {
    const text = "Actions are offered for the first 5 holders and the first 5 waiters.";
    expect([end(1, 6, ["we0"]), end(6, 0, ["e0"])]).toEqual([text, text]);
  });
  it("are not where all are offered, or this user has none of them", () => {
    expect([end(5, 5, ["e0", "we0"]), end(1, 6, ["e0"]), end(6, 6, [])]).toEqual([null, null, null]);
  });
});

describe("words of the server", () => {
  it("that the page does not know are shown as they are", () => {
    expect(outcomeOf({ outcome: "odd" })).toEqual({ text: "The server says: odd.", tone: "warn" });
    expect(asAction("force-release")).toBe("force-release");
    expect(asAction("toString")).toBeNull();
  });
  it("say of every outcome but one that nothing was done", () => {
    for (const outcome of ["would-do", "conflict", "nothing-there", "unsupported"]) {
      expect(outcomeOf({ outcome }).text).toContain("othing was done");
    }
    expect(outcomeOf({ outcome: "done" }).tone).toBe("good");
  });
});

describe("an action that failed", () => {
  it.each([
    [403, "forbidden"],
    [409, "conflict"],
    [503, "audit-unavailable"],
    [503, "backend-failed"],
    [503, "busy"],
  ])("was not done where the answer is %d %s", (status, code) => {
    expect(refusalOf(new ApiFailure("refused", status, code, "why"))).toBe("Nothing was done. why");
  });

  it.each([
    [503, "outcome-unknown"],
    [500, ""],
    [502, ""],
    [0, ""],
    [200, ""],
  ])("may have been done where the answer is %d %s", (status, code) => {
    const failure = new ApiFailure("server", status, code, "why");
    expect(refusalOf(failure)).toMatch(/^It is not known whether it was done/);
    expect(refusalOf(failure, false)).toBe("Nothing was done. why");
  });
});
