import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filledIn, ipOf } from "../../src/contract/link-templates.js";
import { linkProblem } from "../../src/core/link-check.js";

describe("a link that leads out of the dashboard", () => {
  it("has each value in its place, escaped", () => {
    expect(
      filledIn("https://g.example/d?host={host}&q={lock}#{lock}", { host: "a b", lock: "/x?&#/../{host}" }),
    ).toBe(
      "https://g.example/d?host=a%20b&q=%2Fx%3F%26%23%2F..%2F%7Bhost%7D#%2Fx%3F%26%23%2F..%2F%7Bhost%7D",
    );
    expect(filledIn("https://g.example/{pid}", { pid: 7 })).toBe("https://g.example/7");
  });

  it.each([[null], [""], ["."], [".."], ["..."], ["\ud800"]])("is not there where a value is %j", (host) => {
    expect(filledIn("https://g.example/{host}/x", { host })).toBeNull();
  });

  it("never leads to another server or another folder, whatever the value is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (lock) => {
        const filled = filledIn("https://g.example/a/{lock}/b", { lock });
        if (filled === null) return;
        const { origin, pathname, search, hash } = new URL(filled);
        expect([origin, search, hash]).toEqual(["https://g.example", "", ""]);
        expect(pathname.split("/").map(decodeURIComponent)).toEqual(["", "a", lock, "b"]);
      }),
    );
  });

  it("has the address of a client without its port", () => {
    expect(["10.0.0.7:51234", "[::1]:51234", "10.0.0.7", "a-host", null].map(ipOf)).toEqual([
      ...["10.0.0.7", "::1", "10.0.0.7"],
      ...[null, null],
    ]);
  });

  it.each([
    ["javascript:alert(1)", "must begin with https:// or http://"],
    ["//evil.example/", "must begin with"],
    ["https://{host}/", "placeholder in the host"],
    ["https://g.example{lock}/", "placeholder in the host"],
    ["https://g.example:{pid}/", "placeholder in the host"],
    ["https://me:secret@g.example/", "a name or a password"],
    ["https://g.example/{hst}", 'the placeholder "hst"; did you mean host?'],
    ["https://g.example/{host", "a brace without its other half"],
    ["https://g.example/}", "a brace without its other half"],
  ])("%s is refused", (url, why) => {
    const problem = linkProblem({ title: "a", url, on: "owner" });
    expect(problem).toContain(why);
    // The message must not repeat a password.
    expect(problem).not.toContain("secret");
  });

  it("takes the placeholders of its place alone", () => {
    const url = "https://g.example/{host}";
    expect(linkProblem({ title: "a", url, on: "owner" })).toBeNull();
    expect(linkProblem({ title: "a", url, on: "session" })).toBeNull();
    expect(linkProblem({ title: "a", url, on: "lock" })).toContain("Known: backend, cluster, kind, lock");
  });
});
