import { describe, expect, it } from "vitest";
import { help, parseCommand } from "../src/cli/arguments.js";

describe("the command line", () => {
  it("knows what it is to do", () => {
    expect(parseCommand(["--config", "a.yaml"])).toEqual({ do: "serve", config: "a.yaml" });
    expect(parseCommand(["--config", "a.yaml", "--check"])).toEqual({ do: "check", config: "a.yaml" });
    expect(parseCommand(["hash-password"])).toEqual({ do: "hash-password" });
    expect(parseCommand(["--help"])).toEqual({ do: "help" });
  });

  it.each([
    [[], "--config names the file"],
    [["serve"], "no command serve"],
    [["--confg", "a"], "--confg"],
    [["--config"], "--config"],
  ])("%j is refused in words", (args, message) => {
    expect(() => parseCommand(args)).toThrow(message);
  });

  it("its help names each option", () => {
    for (const option of ["--config", "--check", "--help", "hash-password"]) expect(help).toContain(option);
  });
});
