import { expect, test } from "vitest";
import { Screen } from "../src/console/screen.js";

/** A simple terminal. It knows line feeds, cursor up, carriage return and erase to the end. */
class Terminal {
  readonly isTTY: boolean;
  readonly columns = 40;
  text = "";
  #lines: string[] = [""];
  #row = 0;

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  get lines(): string[] {
    return this.#lines.filter((line, index) => line !== "" || index < this.#lines.length - 1);
  }

  write(text: string): void {
    this.text += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what is parsed
    for (const part of text.match(/\u001b\[\d*[AJm]|\r|\n|[^\u001b\r\n]+/g) ?? []) {
      const code = part.at(-1);
      if (part === "\n") {
        this.#row += 1;
        this.#lines[this.#row] ??= "";
      } else if (part === "\r") continue;
      else if (part.startsWith("\u001b") && code === "A") this.#row -= Number(part.slice(2, -1));
      else if (part.startsWith("\u001b") && code === "J") {
        this.#lines.length = this.#row;
        this.#lines.push("");
      } else if (!part.startsWith("\u001b")) this.#lines[this.#row] += part;
    }
  }
}

const picture = (stock: number) => ({ rows: ["holder a", `stock ${stock}`], line: `a, ${stock}` });

test("on a terminal the picture is redrawn in place, below the lines that stay", () => {
  const out = new Terminal(true);
  const screen = new Screen({ out, env: {} });
  screen.line("heading");
  screen.show(picture(3));
  screen.show(picture(2));
  screen.line("a sold one");
  screen.show(picture(1));
  expect(out.lines).toEqual(["heading", "a sold one", "holder a", "stock 1"]);
  screen.clear();
  screen.line("verdict");
  expect(out.lines).toEqual(["heading", "a sold one", "verdict"]);
});

test("a row wider than the terminal is cut, so that redrawing finds the right place", () => {
  const out = new Terminal(true);
  const screen = new Screen({ out, env: {} });
  screen.show({ rows: ["x".repeat(100)], line: "" });
  expect(out.lines).toEqual([`${"x".repeat(38)}…`]);
});

test.each([
  ["a pipe", new Terminal(false), {}],
  ["a dumb terminal", new Terminal(true), { TERM: "dumb" }],
])("into %s each change of the picture is a line, without control characters", (_, out, env) => {
  const screen = new Screen({ out, env });
  screen.line(screen.styled("bold", "heading"));
  screen.show(picture(2));
  screen.show(picture(2));
  screen.line("a sold one");
  screen.show(picture(1));
  screen.clear();
  expect(out.text).toBe("heading\na, 2\na sold one\na, 1\n");
});

test("colours are for terminals, unless NO_COLOR says otherwise", () => {
  const styled = (isTTY: boolean, env: Record<string, string>) =>
    new Screen({ out: new Terminal(isTTY), env }).styled("good", "yes");
  expect(styled(true, {})).toBe("\u001b[32myes\u001b[0m");
  expect(styled(true, { NO_COLOR: "" })).toBe("\u001b[32myes\u001b[0m");
  expect(styled(true, { NO_COLOR: "1" })).toBe("yes");
  expect(styled(false, {})).toBe("yes");
});
