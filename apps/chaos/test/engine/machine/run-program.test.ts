import { expect, test } from "vitest";
import { ProgramError, runProgram } from "../../../src/engine/machine/run-program.js";

test("what a program says is given back, and it is given its input", async () => {
  expect(await runProgram("cat", [], { input: "text" })).toBe("text");
});

test("a program that fails is an error with its code and its last words", async () => {
  const failed = runProgram("sh", ["-c", "echo why >&2; exit 7"]);
  await expect(failed).rejects.toThrow(ProgramError);
  await expect(failed).rejects.toMatchObject({
    code: 7,
    message: expect.stringMatching(/ended with 7: why$/),
  });
});

test("a program that is not there is named", async () => {
  await expect(runProgram("no-such-program-of-anybody", [])).rejects.toThrow(
    /no-such-program-of-anybody does not start/,
  );
});

test("a program that takes too long is ended", async () => {
  await expect(runProgram("sleep", ["600"], { withinMs: 50 })).rejects.toThrow(/took more than 50 ms/);
});

test("a program that reads nothing of its input is no failure", async () => {
  expect(await runProgram("true", [], { input: "x".repeat(1_000_000) })).toBe("");
});
