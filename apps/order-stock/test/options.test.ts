import { expect, test } from "vitest";
import { help, parseOptions, UsageError } from "../src/cli/options.js";

test("without options all acts are played with 12 workers, 10 items and a server inside the process", () => {
  expect(parseOptions([])).toEqual({
    help: false,
    connect: null,
    real: false,
    workers: 12,
    items: 10,
    acts: [1, 2, 3],
  });
  expect(parseOptions(["--real"])).toMatchObject({ connect: null, real: true });
  expect(parseOptions(["--once"])).toEqual(parseOptions([]));
});

test("every option is read", () => {
  const typed = "--act 3 --act 1 --workers 5 --items 4 --connect h1:2181,h2:2181/app --help".split(" ");
  expect(parseOptions(typed)).toEqual({
    help: true,
    connect: "h1:2181,h2:2181/app",
    real: false,
    workers: 5,
    items: 4,
    acts: [3, 1],
  });
});

test.each([
  [["--act", "4"], "--act"],
  [["--act", "1.0"], "--act"],
  [["--workers", "many"], "--workers"],
  [["--workers", "201"], "--workers"],
  [["--items", "0"], "--items"],
  [["--items", "1e1"], "--items"],
  [["--items", "12"], "more workers than items"],
  [["--wrokers", "5"], "--wrokers"],
  [["--real", "--connect", "h:1"], "one of the two"],
  [["5"], "5"],
])("%j is refused with a message that names what to change", (typed, named) => {
  expect(() => parseOptions(typed)).toThrow(UsageError);
  expect(() => parseOptions(typed)).toThrow(named);
});

test("the help names every option", () => {
  for (const option of [
    "--act",
    "--workers",
    "--items",
    "--connect",
    "--real",
    "--once",
    "--help",
    "NO_COLOR",
  ]) {
    expect(help).toContain(option);
  }
});
