import { afterEach, expect, test, vi } from "vitest";
import { capabilities, probe } from "../../../src/engine/probe/probe.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("everything is looked at once, and what is missing has a remedy", async () => {
  const startedMs = performance.now();
  const findings = await probe();
  const tookMs = performance.now() - startedMs;
  expect(findings.map(({ capability }) => capability)).toEqual(capabilities);
  for (const { there, detail, remedy } of findings) {
    expect(detail).not.toBe("");
    expect(remedy === undefined).toBe(there);
  }
  // It takes half a second on an idle machine.
  expect(tookMs).toBeLessThan(30_000);
});

test("without the programs on the path it is named what is missing", async () => {
  vi.stubEnv("PATH", "/nowhere");
  vi.stubEnv("CC", "");
  const findings = await probe(["namespaces", "shims", "small-disk", "limits"]);
  expect(findings.map(({ there }) => there)).toEqual([false, false, false, false]);
  expect(findings.map(({ detail }) => detail)).toEqual([
    "no unshare, nsenter, ip, tc",
    "no C compiler",
    "no unshare, mount",
    "no prlimit",
  ]);
});
