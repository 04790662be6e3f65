import { expect, it } from "vitest";
import { durationOf } from "../src/duration.js";
import { main } from "../src/main.js";

async function holdfast(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    isTty: false,
    signal: new AbortController().signal,
  };
  const code = await main(argv, io, { env: { HOME: "/nonexistent" }, directory: "/nonexistent" });
  return { code, ...said };
}

it("shows its help with --help and help, and on the standard error with exit code 2 when nothing was typed", async () => {
  const { code, out } = await holdfast("--help");
  expect(code).toBe(0);
  expect(out).toContain("Usage: holdfast COMMAND");
  expect(out).toMatch(/^ {2}run +runs a command/m);
  expect((await holdfast("help")).out).toBe(out);
  expect(await holdfast()).toEqual({ code: 2, out: "", err: out });
});

it("shows the options of a command with help COMMAND and with COMMAND --help", async () => {
  const { code, out } = await holdfast("help", "run");
  expect(code).toBe(0);
  expect(out).toContain("Usage: holdfast run");
  expect(out).toContain("--zookeeper");
  expect((await holdfast("run", "--help")).out).toBe(out);
});

it("says its version", async () => {
  expect((await holdfast("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it("names the nearest command when there is none of that name", async () => {
  const { code, err } = await holdfast("rum");
  expect(code).toBe(2);
  expect(err).toContain('there is no command "rum"; did you mean run?');
  expect((await holdfast("help", "qqqqqq")).err).not.toContain("did you mean");
});

it("refuses an option that a command does not have, and names it", async () => {
  const { code, err } = await holdfast("run", "--lok", "a", "--", "true");
  expect(code).toBe(2);
  expect(err).toContain("--lok");
  expect(err).toContain("holdfast help run");
});

it("says where it looks for servers when none is named", async () => {
  const { code, err } = await holdfast("run", "--", "true");
  expect(code).toBe(2);
  expect(err).toContain("HOLDFAST_ZOOKEEPER");
});

it("reads times with a unit, and as seconds without one", () => {
  expect(["500ms", "30s", "1.5m", "2h", "1d", "3", "0"].map((text) => durationOf("--wait", text))).toEqual([
    500, 30_000, 90_000, 7_200_000, 86_400_000, 3_000, 0,
  ]);
  for (const text of ["", "-1s", "1 s", "soon", "1w", "25d"])
    expect(() => durationOf("--wait", text)).toThrow("--wait");
});
