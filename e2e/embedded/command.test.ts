import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { eventually, freePort } from "@holdfast/test-servers";
import { beforeAll, expect, test } from "vitest";
import { Program } from "../packaging/program.js";
import { buildPackages } from "../support/process/emit.js";
import { Witness } from "./witness.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const file = `${root}packages/test-servers/dist/cli/holdfast-zookeeper.js`;

beforeAll(() => buildPackages("@holdfast/test-servers"), 180_000);

const start = (...args: string[]): Program => Program.start(file, root, args);

async function announced(program: Program): Promise<string> {
  await eventually(() => program.output.includes("Ctrl-C") || program.child.exitCode !== null, {
    what: "the command to serve",
    detail: () => program.errors,
  });
  return program.output;
}

test("it serves at the port that was asked for, says what it is not for, and ends with ctrl-C", async () => {
  const port = await freePort();
  const program = start("--port", String(port), "--tick", "500");
  const said = await announced(program);
  expect(said).toMatch(new RegExp(`^127\\.0\\.0\\.1:${port}\n`));
  expect(said).toContain("for development and tests: one process, in memory only");
  const witness = await Witness.open(port);
  await witness.look();
  program.child.kill("SIGINT");
  const { code, afterLastLineMs } = await program.ended;
  expect({ code, errors: program.errors }).toEqual({ code: 0, errors: "" });
  expect(afterLastLineMs).toBeLessThan(5_000);
  witness.close();
});

test.each(["SIGTERM", "SIGHUP"] as const)("%s ends it as well", async (signal) => {
  const program = start("--port", "0");
  expect(await announced(program)).toMatch(/^127\.0\.0\.1:\d+\n/);
  program.child.kill(signal);
  expect((await program.ended).code).toBe(0);
});

test("--help tells every option, and that nothing is kept", async () => {
  const program = start("--help");
  expect((await program.ended).code).toBe(0);
  for (const text of ["--port", "--tick", "--extended-types", "--host", "--allow-remote", "in memory only"]) {
    expect(program.output).toContain(text);
  }
});

test.each([
  [["--prot", "2181"], "--prot"],
  [["2181"], "2181"],
  [["--port", "65536"], '--port: "65536" is not a whole number from 0 to 65535'],
  [["--port", ""], '--port: ""'],
  [["--tick", "0"], "--tick"],
  [["--host", "0.0.0.0"], "--allow-remote"],
  [["--host", "127.0.0.1.example.org"], "--allow-remote"],
])("%j is refused with exit code 2", async (args, named) => {
  const program = start(...args);
  expect((await program.ended).code).toBe(2);
  expect(program.output).toBe("");
  expect(program.errors).toContain(named);
  expect(program.errors).toContain("Usage:");
});

test("other machines are served when that was asked for in so many words", async () => {
  const program = start("--port", "0", "--host", "0.0.0.0", "--allow-remote");
  const port = Number(/^0\.0\.0\.0:(\d+)\n/.exec(await announced(program))?.[1]);
  const witness = await Witness.open(port);
  await witness.look();
  witness.close();
  program.child.kill("SIGINT");
  expect((await program.ended).code).toBe(0);
});

test("a port that is taken ends it with exit code 1 and what to do", async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, "127.0.0.1", () => resolve((other.address() as { port: number }).port));
  });
  const program = start("--port", String(port));
  expect((await program.ended).code).toBe(1);
  expect(program.errors).toContain(`127.0.0.1:${port} is taken`);
  expect(program.errors).not.toMatch(/^\s+at /m);
  other.close();
});
