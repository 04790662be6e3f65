import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { LastRequests } from "../../src/recipes/grants/last-requests.js";
import type { Requests } from "../../src/recipes/requests/requests.js";

test.each([
  ["is refused", async () => Promise.reject(new Error("OOM"))],
  ["has no answer for a minute", async () => ({ reply: null, repeated: true, runId: null })],
])("what was given back is warned of when asking the next master %s", async (_, runUntilAnswered) => {
  const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => emitted.mockRestore());
  const requests = {
    runtime: simulatedRuntime(1),
    line: { masterOf: () => "new", closed: false },
    runUntilAnswered,
  };
  new LastRequests(requests as unknown as Requests).answered({} as never, "permits", "old");
  await vi.waitFor(() =>
    expect(emitted.mock.calls[0]?.[1]).toMatchObject({ code: "HF_GIVE_BACK_UNCONFIRMED" }),
  );
});
