import { describe, expect, it } from "vitest";
import { asAction, hindrance, outcomeOf } from "../../page/src/actions/words.js";

const ready = {
  harmless: false,
  key: "/locks/a",
  typed: "/locks/a",
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
    ["the dialog has been open for less than 2 s", { openMs: 1999 }],
  ])("cannot when %s", (_, changed) => {
    expect(hindrance({ ...ready, ...changed })).toEqual(expect.any(String));
  });
});

describe("a request to leave", () => {
  it("needs no typed name, but a reason", () => {
    expect(hindrance({ ...ready, harmless: true, typed: "" })).toBeNull();
    expect(hindrance({ ...ready, harmless: true, typed: "", reason: "" })).toEqual(expect.any(String));
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
