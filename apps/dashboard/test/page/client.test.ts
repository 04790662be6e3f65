import { afterEach, expect, it, vi } from "vitest";

afterEach(() => vi.unstubAllGlobals());

it("an answer whose head comes and whose rest never does is a dashboard that does not answer", async () => {
  vi.stubGlobal("document", { baseURI: "http://dashboard.test/" });
  const ended = Object.assign(new Error("signal timed out"), { name: "TimeoutError" });
  vi.stubGlobal("fetch", async () => ({ ok: true, status: 200, text: () => Promise.reject(ended) }));
  const { get } = await import("../../page/src/api/client.js");
  await expect(get("overview")).rejects.toMatchObject({ name: "ApiFailure", kind: "unreachable" });
});
