import { expect, test } from "vitest";
import { main } from "../../../src/cli/main.js";
import type { Probe } from "../../../src/engine/capability.js";
import { doctorCommand } from "../../../src/engine/probe/doctor-command.js";

const machine: readonly Probe[] = [
  { capability: "redis", there: true, detail: "Redis 7.0.15" },
  { capability: "namespaces", there: false, detail: "no tc", remedy: "apt-get install -y iproute2" },
];

async function doctor(...args: string[]): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const code = await doctorCommand(
    args,
    (line) => lines.push(line),
    async () => machine,
  );
  return { code, text: lines.join("\n") };
}

test("what is missing is named with its remedy, and is no failure by itself", async () => {
  const { code, text } = await doctor();
  expect(code).toBe(0);
  expect(text).toMatch(/^yes redis +Redis 7\.0\.15$/m);
  expect(text).toMatch(/^no {2}namespaces +no tc$/m);
  expect(text).toMatch(/^ +remedy: apt-get install -y iproute2$/m);
});

test("what is required and missing is a failure of its own", async () => {
  const { code, text } = await doctor("--require", "redis,namespaces");
  expect(code).toBe(3);
  expect(text).toContain("required, but missing: namespaces");
  expect((await doctor("--require", "redis")).code).toBe(0);
});

test("as JSON it is the findings and nothing else", async () => {
  const { code, text } = await doctor("--json", "--require", "namespaces");
  expect(code).toBe(3);
  expect(JSON.parse(text)).toEqual(machine);
});

test.each([["--requires", "redis"], ["--require", "root"], ["more"]])("refuses %s %s", async (...args) => {
  const lines: string[] = [];
  const code = await main(["doctor", ...args.filter((arg) => arg !== undefined)], (line) => lines.push(line));
  expect(code).toBe(254);
  expect(lines.join("\n")).toContain("holdfast-chaos doctor --help tells what there is.");
});

test("help names every capability", async () => {
  const { code, text } = await doctor("--help");
  expect(code).toBe(0);
  expect(text).toContain(
    "java, zookeeper, redis, sentinel, curator, redisson, namespaces, shims, small-disk, limits",
  );
});
