import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(join(root, "apps/chaos/docs/in-ci.md"), "utf8");

/** The code blocks of the page in their order. */
const blocks = [...page.matchAll(/^```(\w+)[^\n]*\n([\s\S]*?)^```/gm)].map(
  ([, language = "", text = ""]) => ({
    language,
    text,
  }),
);

/** Lines by which a reader of the page installs something. The test uses what this repository has built instead. */
const installed = (line: string): boolean => /^(npm install|npx holdfast-servers ensure) /.test(line);

function install(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  for (const name of ["@holdfast", "ioredis"])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  const command = `#!/bin/sh\nexec ${process.execPath} ${join(root, "apps/chaos/dist/cli.js")} "$@"\n`;
  writeFileSync(join(modules, ".bin/holdfast-chaos"), command, { mode: 0o755 });
}

function runIn(cwd: string, line: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      "/bin/sh",
      ["-c", line],
      { cwd, env: { ...process.env, NO_COLOR: "1", npm_config_offline: "true" } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
      },
    );
  });
}

it("the page of CI can be followed word by word: its file, its commands, and the exit codes that it names", async () => {
  const file = /Write `([^`]+)`/.exec(page)?.[1];
  const code = blocks.find(({ language }) => language === "js")?.text;
  expect(file).toBe("my-lock.mjs");
  const lines = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.trim().split("\n"));
  const commands = lines.filter((line) => !installed(line));
  expect(lines).toHaveLength(4);
  expect(commands).toHaveLength(2);
  // The commands run beside each other, each in its own project folder.
  const ends = await Promise.all(
    commands.map((line) => {
      const folder = mkdtempSync(join(tmpdir(), "in-ci-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      install(folder);
      writeFileSync(join(folder, file as string), code as string);
      return runIn(folder, line);
    }),
  );
  const shown = ends.map(({ output }) => output).join("\n");
  expect(
    ends.map(({ code: each }) => each),
    shown,
  ).toEqual([0, 1]);
  expect(ends[0]?.output).toMatch(/judged +R03 .*convicted by belief, .*lost-update/);
  expect(ends[1]?.output).toContain("kept in ");
});

it("a run that is to judge what its client does not provide is refused, with the reason", async () => {
  const folder = mkdtempSync(join(tmpdir(), "in-ci-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  install(folder);
  writeFileSync(join(folder, "my-lock.mjs"), blocks.find(({ language }) => language === "js")?.text ?? "");
  const line = "npx holdfast-chaos run R02 --client ./my-lock.mjs --expect fence-order --out results";
  const { code, output } = await runIn(folder, line);
  expect(output).toContain("--expect fence-order cannot be judged");
  expect(code).toBe(254);
});
