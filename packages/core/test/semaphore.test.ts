import { InvalidArgumentError, UnsupportedError } from "@holdfast/core";
import { attemptFrom, type PermitLimit } from "@holdfast/core/driver";
import { DriverProvider, EventHub, resolveProviderOptions } from "@holdfast/core/internal";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

const runtime = simulatedRuntime(31);

class Batch extends ScriptedGrant {
  override readonly permitIds: readonly string[];
  constructor(...permitIds: string[]) {
    super(runtime.nowMs() + 60_000);
    this.permitIds = permitIds;
  }
}

async function batch(...ids: string[]) {
  const made = scripted(runtime, "session");
  const acquired = made.provider.semaphore("s", 9).acquire({ permits: ids.length });
  const grant = new Batch(...ids);
  made.last().granted.resolve(grant);
  return { ...made, grant, handle: await acquired };
}

/** A provider whose backend keeps the limits itself. */
class Counting extends DriverProvider {
  counted(limit: PermitLimit | null) {
    return this.semaphoreOfKind("semaphore", "s", limit);
  }
}

function counting(limit?: (name: string, given: PermitLimit | null) => Promise<number>): Counting {
  const events = new EventHub({ provider: "counting", backend: "memory", runtime });
  return new Counting({
    driver: {
      capabilities: {
        backend: "memory",
        lease: "session",
        fencing: "durable",
        fairness: "fifo",
        push: true,
        primitives: new Set(["semaphore"]),
      },
      attempt: (_requests, listener) => attemptFrom(Promise.resolve(null), listener, () => {}),
      inspect: () => Promise.reject(new Error("not scripted")),
      close: async () => {},
      ...(limit === undefined ? {} : { limit }),
    },
    link: { state: "connected", whenConnected: async () => {} },
    events,
    options: resolveProviderOptions("counting", { runtime }),
  });
}

describe("a semaphore", () => {
  it("asks for all permits in one shared request that carries the limit", async () => {
    const { requests, handle } = await batch("a", "b");
    expect(requests).toHaveLength(1);
    expect(requests[0]?.request).toMatchObject({ kind: "semaphore", mode: "shared", permits: 2, limit: 9 });
    expect(handle).toMatchObject({ permits: 2, permitIds: ["a", "b"] });
  });

  it("gives the rest of a batch back when one permit of it is gone", async () => {
    const { grant, handle } = await batch("a", "b");
    grant.listener({ type: "lost", reason: "stolen" });
    expect(handle.state).toBe("lost");
    expect(grant.releases).toHaveLength(1);
    expect(await handle.release()).toBe("lost");
    expect(grant.releases).toHaveLength(1);
  });

  it("asks for nothing when all of it is gone: a single permit, or the session", async () => {
    const single = await batch("a");
    single.grant.listener({ type: "lost", reason: "stolen" });
    expect(single.grant.releases).toHaveLength(0);
    const several = await batch("a", "b");
    several.grant.listener({ type: "lost", reason: "session-expired" });
    expect(several.grant.releases).toHaveLength(0);
  });

  it("takes its limit from the backend where that keeps one, and passes on the limit that the client was given", async () => {
    const asked: unknown[] = [];
    const provider = counting(async (name, given) => {
      asked.push([name, given]);
      return 12;
    });
    const counter = { countedBy: "/counter" };
    expect(await provider.counted(counter).limit()).toBe(12);
    expect(await provider.counted(null).limit()).toBe(12);
    expect(await provider.counted(5).limit()).toBe(12);
    expect(asked).toEqual([
      ["s", counter],
      ["s", null],
      ["s", 5],
    ]);
    // The client does not know the limit. So the request is sent, and waits for the limit to be raised.
    expect(await provider.counted(counter).tryAcquire({ permits: 1_000 })).toBeNull();
  });

  it("rejects a question for its limit where neither the client nor the backend knows it", async () => {
    const provider = counting();
    expect(await provider.counted(5).limit()).toBe(5);
    await expect(provider.counted({ countedBy: "/counter" }).limit()).rejects.toThrow(UnsupportedError);
    await expect(provider.counted(null).limit()).rejects.toThrow(UnsupportedError);
    expect(() => provider.counted({ countedBy: "" })).toThrow(InvalidArgumentError);
  });
});
