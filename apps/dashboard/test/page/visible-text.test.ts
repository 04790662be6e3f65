import { createElement, Fragment } from "preact";
import { describe, expect, it } from "vitest";
import "../../page/src/app/visible-text.js";

const propsOf = (vnode: { readonly props: object }) => vnode.props as Record<string, unknown>;

describe("every text of the page", () => {
  it.each([
    ["order:\u202egnp.exe", "order:\\u{202e}gnp.exe"],
    ["two\nlines\tand\u0000more\u0085", "two\\u{a}lines\\u{9}and\\u{0}more\\u{85}"],
    ["zero\u200bwidth\u2060\ufeff", "zero\\u{200b}width\\u{2060}\\u{feff}"],
    ["\u2066isolated\u2069 \u061c", "\\u{2066}isolated\\u{2069} \\u{61c}"],
    ["wide\u3000and\u00a0stuck", "wide\\u{3000}and\\u{a0}stuck"],
    ["half \ud83d", "half \\u{d83d}"],
    ["Grüße an 東京 🔒 … · שלום", "Grüße an 東京 🔒 … · שלום"],
  ])("shows what cannot be seen: %j", (text, shown) => {
    expect(propsOf(createElement("p", { title: text, "aria-label": text }, text))).toMatchObject({
      ...{ title: shown, "aria-label": shown, children: shown },
    });
    const nested = createElement("p", null, ["in ", [text]], createElement("b", null, text));
    expect(propsOf(nested).children).toMatchObject([["in ", [shown]], { props: { children: shown } }]);
    expect(propsOf(createElement(Fragment, null, text)).children).toBe(shown);
  });

  it("leaves alone what is typed, and where links lead", () => {
    const text = "a\u202eb";
    expect(propsOf(createElement("input", { value: text }))).toEqual({ value: text });
    expect(propsOf(createElement("a", { href: text }, "x"))).toEqual({ href: text, children: "x" });
  });
});
