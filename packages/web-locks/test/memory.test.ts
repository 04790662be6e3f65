import { getEventListeners } from "node:events";
import { type LockProvider, MemorySpace, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { expect, it } from "vitest";
import { webLocks } from "../src/index.js";
import { standard } from "./standard.js";

const space = new MemorySpace();
standard("memory", async (): Promise<LockProvider> => memoryLocks({ space }));

it("a request whose lock is lost with the session rejects at once, and its callback is told by the lock", async () => {
  const provider = memoryLocks();
  const told: unknown[] = [];
  const request = webLocks(provider).request("lost", async ({ lost }) => {
    const over = new Promise((resolve) => lost.addEventListener("abort", resolve, { once: true }));
    memoryControls(provider).expire();
    await over;
    told.push((lost.reason as { code?: string }).code);
  });
  await expect(request).rejects.toMatchObject({ code: "HF_LOCK_LOST" });
  expect(told).toEqual(["HF_LOCK_LOST"]);
  await provider.close();
});

it("names of a manager are locks of the provider below its prefix", async () => {
  const provider = memoryLocks();
  await webLocks(provider, { prefix: "team/" }).request("a/b", async () => {
    expect(provider.holds().map(({ name }) => name)).toEqual(["team/a%2Fb"]);
  });
  await provider.close();
});

it("a signal that outlives its requests keeps nothing of them", async () => {
  const provider = memoryLocks();
  const { signal } = new AbortController();
  const manager = webLocks(provider);
  await manager.request("a", { signal }, () => {});
  await expect(
    manager.request("a", { signal }, () => Promise.reject(new Error("of the body"))),
  ).rejects.toThrow();
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await provider.close();
});
