import { readlinkSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { SmallDisk } from "../../../src/engine/disk/small-disk.js";
import { createSwitch, insideNamespaces } from "../../../src/engine/network/index.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("outside of namespaces of its own nothing of the network is touched", async () => {
  await expect(createSwitch({ nodes: 1 })).rejects.toThrow("the machine itself is never touched");
});

test("outside of namespaces of its own nothing is mounted", async () => {
  await expect(SmallDisk.mount("/nowhere/holdfast", 4_096)).rejects.toThrow(
    "the machine itself is never touched",
  );
});

test("a word in the environment alone does not make a process believe that it is inside", () => {
  vi.stubEnv("HOLDFAST_CHAOS_INSIDE", `userns ${readlinkSync("/proc/self/ns/net")} 3`);
  expect(insideNamespaces()).toBeUndefined();
  vi.stubEnv("HOLDFAST_CHAOS_INSIDE", "userns");
  expect(insideNamespaces()).toBeUndefined();
  vi.stubEnv("HOLDFAST_CHAOS_INSIDE", "elsewhere net:[1] 3");
  expect(insideNamespaces()).toBeUndefined();
});
