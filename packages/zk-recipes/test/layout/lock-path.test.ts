import { InvalidArgumentError } from "@holdfast/core";
import { validatePath } from "@holdfast/zk-protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeSegment, LockPaths } from "../../src/layout/lock-path.js";

const plain = new LockPaths({ chroot: "", namespace: "", root: "/holdfast" });

describe("names to paths", () => {
  it.each([
    ["orders", "/holdfast/orders"],
    ["orders/42", "/holdfast/orders%2F42"],
    ["100%", "/holdfast/100%25"],
    ["..", "/holdfast/%2E%2E"],
    [".hidden", "/holdfast/%2Ehidden"],
    ["a.b", "/holdfast/a.b"],
    ["-a_B.9-", "/holdfast/-a_B.9-"],
    ["ab\n", "/holdfast/ab%0A"],
    ["tab\there", "/holdfast/tab%09here"],
    ["schloß", "/holdfast/schloß"],
    ["/curator/lock", "/curator/lock"],
  ])("%s lands at %s", (name, path) => {
    expect(plain.pathOf(name)).toBe(path);
  });

  it("puts chroot, namespace and root above, the namespace also above absolute names", () => {
    const paths = new LockPaths({ chroot: "/app", namespace: "team", root: "/locks" });
    expect(paths.pathOf("a")).toBe("/app/team/locks/a");
    expect(paths.pathOf("/x/y")).toBe("/app/team/x/y");
    expect(paths.levelsOf("/app/team/x/y")).toEqual(["/app/team", "/app/team/x", "/app/team/x/y"]);
  });

  it("makes one legal segment of any well-formed name, and no two names the same", () => {
    const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(name, name, (a, b) => {
        const segment = encodeSegment(a);
        expect(segment).not.toContain("/");
        expect(() => validatePath(`/holdfast/${segment}`)).not.toThrow();
        expect(segment === encodeSegment(b)).toBe(a === b);
      }),
    );
  });

  it.each(["", "/", "/a/", "//a", "/a/../b", "/a\u0000b", "x".repeat(513), "half \ud800"])(
    "refuses the name %j at once",
    (name) => {
      expect(() => plain.pathOf(name)).toThrow(InvalidArgumentError);
    },
  );

  it.each([
    ["root", { root: "locks" }],
    ["root", { root: "/a//b" }],
    ["namespace", { namespace: "a/../b" }],
  ])("names the option %s when that is wrong", (option, wrong) => {
    expect(() => new LockPaths({ chroot: "", namespace: "", root: "/holdfast", ...wrong })).toThrow(
      new RegExp(`option ${option}`),
    );
  });
});
