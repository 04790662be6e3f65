import { InvalidArgumentError, LockLostError, memoryLocks } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

async function held() {
  const runtime = simulatedRuntime(20);
  const made = scripted(runtime, "ttl", { leaseMs: 3_000 });
  const grant = new ScriptedGrant(runtime.nowMs() + 3_000);
  const acquired = made.provider.mutex("a").acquire();
  made.last().granted.resolve(grant);
  return { runtime, grant, handle: await acquired, ...made };
}

describe("a provider that closes with graceMs", () => {
  it("lets a scope enter its own lock again and downgrade, renews the holds, and takes them at the end", async () => {
    const { runtime, grant, handle, provider } = await held();
    const closing = provider.close({ graceMs: 5_000 });
    await runtime.advance(1_000);
    expect(grant.renewals).toHaveLength(1);
    grant.renewed(runtime.nowMs() + 60_000);
    await runtime.advance(3_999);
    expect(handle.state).toBe("held");
    await runtime.advance(1);
    expect(await closing).toEqual({ released: 1, unconfirmed: [] });
    expect(handle.lost.reason).toBeInstanceOf(LockLostError);
    expect(handle.lost.reason).toMatchObject({ reason: "provider-closed" });

    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const write = await locks.readWriteLock("b").write.acquire();
    let closed: Promise<unknown> | undefined;
    await lock.withLock(async () => {
      closed = locks.close({ graceMs: 60_000 });
      await lock.withLock((inner) => inner.confirm());
      await expect(locks.mutex("c").acquire()).rejects.toMatchObject({ code: "HF_PROVIDER_CLOSED" });
      const read = await write.downgrade();
      await read.release();
    });
    expect(await closed).toEqual({ released: 0, unconfirmed: [] });
  });

  it("delivers nothing that is granted in the moment of the call, however many others wait", async () => {
    const { runtime, handle, provider, requests, last } = await held();
    const waits = Array.from({ length: 250 }, (_, i) => provider.mutex(`b${i}`).acquire());
    const ends = Promise.allSettled(waits);
    await runtime.advance(1);
    last().granted.resolve(new ScriptedGrant(runtime.nowMs() + 3_000));
    const closing = provider.close({ graceMs: 5_000 });
    await runtime.advance(100);
    for (const end of await ends) expect(end).toMatchObject({ reason: { code: "HF_PROVIDER_CLOSED" } });
    expect(requests.at(-1)?.cancels).toBe(1);
    await handle.release();
    await runtime.advance(1_000);
    await closing;
  });

  it("counts no release that an owner has begun, although it ends before the provider comes to that hold", async () => {
    const locks = memoryLocks();
    const handles = await Promise.all(Array.from({ length: 500 }, (_, i) => locks.mutex(`a${i}`).acquire()));
    const closing = locks.close();
    expect(await handles.at(-1)?.release()).toBe("released");
    expect(await closing).toEqual({ released: 499, unconfirmed: [] });
  });

  it("refuses wrong options, and closes nothing then", async () => {
    const locks = memoryLocks();
    for (const options of [{ graceMs: -1 }, { graceMs: Infinity }, { grace: 5 }, 5_000]) {
      await expect(locks.close(options as never)).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    expect(locks.state).toBe("connected");
    await locks.close();
  });
});
