import { describe, expect, it } from "vitest";
import { type Press, Shortcuts } from "../../page/src/keys/shortcuts.js";

const press = (key: string, changed: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  busy: false,
  ...changed,
});

describe("single keys", () => {
  it("search, pause, help and move", () => {
    const keys = new Shortcuts();
    expect(["/", "p", "?", "j", "k", "x"].map((key) => keys.press(press(key), 0))).toEqual([
      { do: "search" },
      { do: "pause" },
      { do: "help" },
      { do: "row", by: 1 },
      { do: "row", by: -1 },
      null,
    ]);
  });
  it("do nothing while the user writes, nor with another key held", () => {
    const keys = new Shortcuts();
    expect(keys.press(press("p", { busy: true }), 0)).toBeNull();
    expect(keys.press(press("p", { ctrlKey: true }), 0)).toBeNull();
    expect(keys.press(press("k", { metaKey: true }), 0)).toBeNull();
  });
});

describe("g and another", () => {
  it("go to a page", () => {
    const keys = new Shortcuts();
    expect(keys.press(press("g"), 0)).toBeNull();
    expect(keys.press(press("l"), 500)).toEqual({ do: "go", path: "locks" });
    expect(keys.press(press("l"), 600)).toBeNull();
  });
  it("are forgotten after 1.5 s, and after a key that is no page", () => {
    const keys = new Shortcuts();
    keys.press(press("g"), 0);
    expect(keys.press(press("p"), 1501)).toEqual({ do: "pause" });
    keys.press(press("g"), 2000);
    expect(keys.press(press("p"), 2100)).toBeNull();
    expect(keys.press(press("p"), 2200)).toEqual({ do: "pause" });
  });
  it("do not take a name of every object for a page", () => {
    const keys = new Shortcuts();
    keys.press(press("g"), 0);
    expect(keys.press(press("constructor"), 1)).toBeNull();
  });
});
