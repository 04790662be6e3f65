import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { baseName, InvalidPathError, isValidPath, joinPath, parentOf, validatePath } from "../src/index.js";

function refusal(path: string): InvalidPathError {
  expect(isValidPath(path)).toBe(false);
  try {
    validatePath(path);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidPathError);
    return error as InvalidPathError;
  }
  throw new Error(`${JSON.stringify(path)} was accepted`);
}

/** The refused ranges as a list, written independently of the checks in the source. */
function refused(unit: number): boolean {
  const ranges = [
    [0x0000, 0x001f],
    [0x007f, 0x009f],
    [0xd800, 0xf8ff],
    [0xfff0, 0xffff],
  ] as const;
  return ranges.some(([first, last]) => unit >= first && unit <= last);
}

// e2e/protocol/codec.test.ts asks a server about the same rules, for every UTF-16 unit.
describe("validatePath", () => {
  test.each([
    "/",
    "/a",
    "/a/b/c",
    "/.a",
    "/a..",
    "/...",
    "/a/..b",
    "/ ",
    "/with space/x",
    "/\\",
    "/100%",
    "/\u2028",
    "/\uFEFF",
    "/\u00A0",
    "/\uF900",
    "/\uFFEF",
    "/漢字",
    `/${"x".repeat(3000)}`,
  ])("accepts %j", (path) => {
    expect(() => validatePath(path)).not.toThrow();
  });

  test.each([
    ["", 0, undefined, "it must start with /"],
    ["a", 0, "a", "it must start with /"],
    ["a/b", 0, "a", "it must start with /"],
    ["/a/", 2, "/", "it must not end with /"],
    ["//", 1, "/", "empty name between two /"],
    ["//zz", 1, "/", "empty name between two /"],
    ["/a//b", 3, "/", "empty name between two /"],
    ["/.", 1, ".", "relative name ."],
    ["/./a", 1, ".", "relative name ."],
    ["/a/.", 3, ".", "relative name ."],
    ["/..", 1, ".", "relative name .."],
    ["/zz/..", 4, ".", "relative name .."],
    ["/a/../b", 3, ".", "relative name .."],
    ["/a\u0000b", 2, "\u0000", "control character U+0000"],
    ["/\u0001", 1, "\u0001", "control character U+0001"],
    ["/a/\u001f", 3, "\u001f", "control character U+001F"],
    ["/\u007f", 1, "\u007f", "control character U+007F"],
    ["/\u0085", 1, "\u0085", "control character U+0085"],
    ["/\u009f", 1, "\u009f", "control character U+009F"],
    ["/lock🔒", 5, "🔒", "character outside the basic plane U+1F512"],
    ["/\ud800", 1, "\ud800", "character outside the basic plane U+D800"],
    ["/\udfff", 1, "\udfff", "character outside the basic plane U+DFFF"],
    ["/\ue000", 1, "\ue000", "private-use character U+E000"],
    ["/\uf8ff", 1, "\uf8ff", "private-use character U+F8FF"],
    ["/\ufff0", 1, "\ufff0", "special character U+FFF0"],
    ["/\ufffd", 1, "\ufffd", "special character U+FFFD"],
    ["/\uffff", 1, "\uffff", "special character U+FFFF"],
  ])("refuses %j at position %i", (path, position, character, reason) => {
    expect(refusal(path)).toMatchObject({ name: "InvalidPathError", path, position, character, reason });
  });

  test("names path, character and position in its message", () => {
    expect(refusal("/a\u0001").message).toBe(
      '"/a\\u0001" is not a ZooKeeper path: control character U+0001 (position 2)',
    );
  });

  test("refuses what is no string, for callers without types", () => {
    for (const path of [undefined, null, 7, {}]) {
      expect(refusal(path as unknown as string).reason).toContain("a string is required");
    }
  });

  test("agrees with the rules stated one by one, on any text", () => {
    const near = fc.constantFrom(
      "/",
      ".",
      "..",
      "a",
      "\u0000",
      "\u001f",
      " ",
      "~",
      "\u007f",
      "\u009f",
      "\u00a0",
      "\ud7ff",
      "\ud800",
      "\ue000",
      "\uf8ff",
      "\uf900",
      "\uffef",
      "\ufff0",
      "🔒",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(near, fc.string({ maxLength: 3 })), { maxLength: 12 }),
        fc.boolean(),
        (parts, rooted) => {
          const path = (rooted ? "/" : "") + parts.join("");
          const names = path.slice(1).split("/");
          const legal =
            path === "/" ||
            (path.startsWith("/") &&
              names.every((name) => name !== "" && name !== "." && name !== "..") &&
              Array.from({ length: path.length }, (_, i) => path.charCodeAt(i)).every(
                (unit) => !refused(unit),
              ));
          if (legal) {
            validatePath(path);
          } else {
            const error = refusal(path);
            expect(error.position).toBeLessThanOrEqual(path.length);
            if (error.character !== undefined) {
              expect(path.startsWith(error.character, error.position)).toBe(true);
            }
          }
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe("taking paths apart and together", () => {
  test("joinPath puts one slash between", () => {
    expect(joinPath("/", "a")).toBe("/a");
    expect(joinPath("/a", "b")).toBe("/a/b");
  });

  test("the parent of a path at the top is the root, and so is the root's own", () => {
    expect(parentOf("/a/b")).toBe("/a");
    expect(parentOf("/a")).toBe("/");
    expect(parentOf("/")).toBe("/");
  });

  test("baseName is the last name, and the root has none", () => {
    expect(baseName("/a/b")).toBe("b");
    expect(baseName("/a")).toBe("a");
    expect(baseName("/")).toBe("");
  });
});

test("a path that validatePath accepts is valid", () => {
  expect(["/", "/a", "/a/b.c"].map(isValidPath)).toEqual([true, true, true]);
});
