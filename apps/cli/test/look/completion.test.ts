import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "./support.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-completion-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes the script for a shell into a file and returns its path. */
async function scriptOf(shell: string): Promise<string> {
  const { code, out } = await run(["completion", shell]);
  expect(code).toBe(0);
  const file = join(folder, shell);
  writeFileSync(file, out);
  return file;
}

/** What bash would offer for the last of these words. */
function offered(script: string, words: readonly string[]): string[] {
  const call = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["--norc", "-c", call, script, ...words], {
    encoding: "utf8",
    cwd: folder,
  });
  return out.split("\n").filter((each) => each !== "");
}

test("the script of bash is right for bash -n, and offers commands, run among them, and the options of the one that was typed", async () => {
  const script = await scriptOf("bash");
  execFileSync("bash", ["-n", script]);
  expect(offered(script, ["holdfast", ""])).toEqual(
    expect.arrayContaining([
      "run",
      "ls",
      "show",
      "watch",
      "waits",
      "release",
      "doctor",
      "completion",
      "--json",
    ]),
  );
  expect(offered(script, ["holdfast", "rel"])).toEqual(["release"]);
  expect(offered(script, ["holdfast", "--zookeeper", "h:2181", "release", "--f"])).toEqual(["--force"]);
  expect(offered(script, ["holdfast", "ls", "--f"])).toEqual([]);
  expect(offered(script, ["holdfast", "completion", ""])).toEqual(
    expect.arrayContaining(["bash", "zsh", "fish"]),
  );
  // The value of an option and the command after -- are not words of ours.
  expect(offered(script, ["holdfast", "ls", "--config", "ba"])).toEqual(["bash"]);
  expect(offered(script, ["holdfast", "run", "--", "l"])).toEqual([]);
});

test("the scripts of zsh and fish name all commands, and are right for zsh -n and fish -n where these programs are installed", async () => {
  for (const shell of ["zsh", "fish"]) {
    const script = await scriptOf(shell);
    const checked = spawnSync(shell, ["-n", script], { encoding: "utf8" });
    if ((checked.error as NodeJS.ErrnoException | undefined)?.code !== "ENOENT") {
      expect({ shell, status: checked.status, stderr: checked.stderr }).toEqual({
        shell,
        status: 0,
        stderr: "",
      });
    }
    const { out } = await run(["completion", shell]);
    for (const word of ["run", "ls", "release", "force", "zookeeper"]) expect(out).toContain(word);
  }
});

test("another shell is wrong usage, and the message names those that there are", async () => {
  for (const line of [["completion"], ["completion", "ksh"], ["completion", "bash", "zsh"]]) {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toContain("bash, zsh, fish");
  }
});
