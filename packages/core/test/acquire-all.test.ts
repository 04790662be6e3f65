import { channel } from "node:diagnostics_channel";
import { BackendError, EvictedError, type LockEventMap, UnsupportedError } from "@holdfast/core";
import type { AttemptListener, GrantRequest } from "@holdfast/core/driver";
import {
  type AcquireSpec,
  type AcquireSpecs,
  acquireKeys,
  claimAll,
  type GrantEngine,
  resolveAcquireOptions,
  viewPartsOf,
} from "@holdfast/core/internal";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { type Scripted, ScriptedGrant, scripted } from "./scripted-driver.js";

interface JointRequest {
  readonly requests: readonly GrantRequest[];
  readonly listener: AttemptListener;
  cancels: number;
}

const names = ["a", "b"];
let runtime: SimulatedRuntime;
let script: Scripted;
let asked: JointRequest[];
let told: string[];

beforeEach(() => {
  runtime = simulatedRuntime(1);
  asked = [];
  told = [];
  script = scripted(runtime, "session", {
    driver: {
      jointGroup: () => 0,
      attempt(requests, listener) {
        const made: JointRequest = { requests, listener, cancels: 0 };
        asked.push(made);
        return {
          async withdraw() {
            made.cancels++;
          },
        };
      },
    },
  });
  for (const type of ["acquire-started", "acquire-settled", "released", "lost"] as const) {
    script.provider.events.on(type, (event: LockEventMap[typeof type]) => {
      told.push([type, event.name, ...("outcome" in event ? [event.outcome] : [])].join(" "));
    });
  }
});

function engine(): GrantEngine {
  return partsOf("any").engine;
}

function partsOf(name: string) {
  const parts = viewPartsOf(script.provider.mutex(name));
  if (parts === undefined) throw new Error("not a view of core's");
  return parts;
}

function specs(options: { waitMs?: number; signal?: AbortSignal } = {}, more: Partial<AcquireSpec> = {}) {
  return names.map((name) => {
    const view = partsOf(name);
    return {
      ...view.spec(resolveAcquireOptions("acquire", options, view.defaults, acquireKeys.view)),
      ...more,
    };
  }) as unknown as AcquireSpecs;
}

function granting(): void {
  const grants = names.map((_, i) =>
    Object.assign(new ScriptedGrant(runtime.nowMs() + 10_000), { token: BigInt(i + 1) }),
  );
  grant(asked.at(-1), grants);
}

function grant(made: JointRequest | undefined, grants: readonly ScriptedGrant[]): void {
  const states = made?.listener.granted(grants as [ScriptedGrant, ...ScriptedGrant[]]) ?? [];
  for (const [i, state] of states.entries()) grants[i]?.entered(state);
}

describe("an acquire of several locks together", () => {
  it("is one request to the driver, and a handle, a hold and events for each lock", async () => {
    const acquiring = claimAll(engine(), specs());
    expect(asked).toHaveLength(1);
    expect(asked[0]?.requests.map(({ name, mayWait }) => [name, mayWait])).toEqual([
      ["a", true],
      ["b", true],
    ]);
    granting();
    const handles = (await acquiring) ?? [];
    expect(handles.map(({ name, token, state }) => [name, token, state])).toEqual([
      ["a", 1n, "held"],
      ["b", 2n, "held"],
    ]);
    expect(script.provider.holds()).toEqual(handles);
    expect(await handles[1]?.release()).toBe("released");
    expect(handles[0]?.state).toBe("held");
    expect(await handles[0]?.release()).toBe("released");
    expect(told).toEqual([
      "acquire-started a",
      "acquire-started b",
      "acquire-settled a granted",
      "acquire-settled b granted",
      "released b released",
      "released a released",
    ]);
  });

  it("that asks once leaves no place to wait in, and reports a refusal only when nothing else is done about it", async () => {
    const once = claimAll(engine(), specs({ waitMs: 5_000 }, { asksOnce: true }));
    expect(asked[0]?.requests.map(({ mayWait }) => mayWait)).toEqual([false, false]);
    asked[0]?.listener.unavailable();
    expect(await once).toBeNull();
    expect(told).toEqual([]);

    const only = claimAll(engine(), specs({ waitMs: 0 }, { asksOnce: true }));
    asked[1]?.listener.unavailable();
    expect(await only).toBeNull();
    expect(told).toEqual([
      "acquire-started a",
      "acquire-started b",
      "acquire-settled a unavailable",
      "acquire-settled b unavailable",
    ]);
  });

  it("that asks once and is granted reports all of it", async () => {
    const once = claimAll(engine(), specs({ waitMs: 5_000 }, { asksOnce: true }));
    granting();
    for (const handle of (await once) ?? []) await handle.release();
    expect(told).toEqual([
      "acquire-started a",
      "acquire-settled a granted",
      "acquire-started b",
      "acquire-settled b granted",
      "released a released",
      "released b released",
    ]);
  });

  it("that asks once and is refused at once publishes the end of its synchronous part once for each lock", async () => {
    const refuses = (): never => {
      throw new BackendError("refused", { retryable: false });
    };
    script = scripted(runtime, "session", { driver: { jointGroup: () => 0, attempt: refuses } });
    const ends: unknown[] = [];
    const listen = (message: unknown) => void ends.push(message);
    const end = channel("tracing:holdfast:acquire:end");
    end.subscribe(listen);
    try {
      const once = claimAll(engine(), specs({ waitMs: 5_000 }, { asksOnce: true }));
      await expect(once).rejects.toThrow("refused");
    } finally {
      end.unsubscribe(listen);
    }
    expect(ends).toHaveLength(2);
  });

  it("is asked again as a whole after trouble in transport, within its time", async () => {
    const acquiring = claimAll(engine(), specs({ waitMs: 5_000 }, { asksOnce: true }));
    asked[0]?.listener.failed(new BackendError("connection lost"));
    await runtime.advance(2_100);
    expect(asked[0]?.cancels).toBe(1);
    expect(asked).toHaveLength(2);
    granting();
    expect(await acquiring).toHaveLength(2);
  });

  it("takes the whole request back when it is aborted, also when the grant comes at the same moment", async () => {
    const controller = new AbortController();
    const acquiring = claimAll(engine(), specs({ signal: controller.signal }));
    const reason = new Error("enough");
    granting();
    controller.abort(reason);
    await expect(acquiring).rejects.toBe(reason);
    expect(asked[0]?.cancels).toBe(1);
    expect(script.provider.holds()).toEqual([]);
  });

  it("is an eviction when one of the grants was deleted by another client before it could be delivered", async () => {
    const acquiring = claimAll(engine(), specs());
    const grants = names.map(() => new ScriptedGrant(runtime.nowMs() + 10_000));
    (grants[1] as ScriptedGrant).untold = { type: "lost", reason: "stolen" };
    grant(asked[0], grants);
    const error = await acquiring.catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(EvictedError);
    expect(error).toMatchObject({ lockName: "b" });
    expect(asked[0]?.cancels).toBe(1);
    expect(script.provider.holds()).toEqual([]);
  });

  it("is asked again when one of the leases was over before the grant could be delivered", async () => {
    const acquiring = claimAll(engine(), specs({ waitMs: 20_000 }));
    const grants = names.map(() => new ScriptedGrant(runtime.nowMs() + 10_000));
    (grants[0] as ScriptedGrant).untilMs = runtime.nowMs();
    grant(asked[0], grants);
    await runtime.advance(2_100);
    expect(asked[0]?.cancels).toBe(1);
    expect(asked).toHaveLength(2);
    granting();
    expect(await acquiring).toHaveLength(2);
  });

  it("is delivered only once every grant has been proven, when contact broke meanwhile", async () => {
    let granted = false;
    const acquiring = claimAll(engine(), specs({ waitMs: 20_000 }));
    acquiring.then(() => {
      granted = true;
    });
    const grants = names.map(() => new ScriptedGrant(runtime.nowMs() + 10_000));
    (grants[1] as ScriptedGrant).untold = { type: "uncertain" };
    grant(asked[0], grants);
    await runtime.advance(10);
    expect(grants.map(({ renewals }) => renewals.length)).toEqual([1, 1]);
    grants[0]?.renewed(runtime.nowMs() + 9_000);
    await runtime.advance(10);
    expect(granted).toBe(false);
    grants[1]?.renewed(runtime.nowMs() + 9_000);
    expect((await acquiring)?.map(({ state }) => state)).toEqual(["held", "held"]);
  });

  it("is taken back and asked for again when contact breaks once more before that is proven", async () => {
    const acquiring = claimAll(engine(), specs({ waitMs: 20_000 }));
    const grants = names.map(() => new ScriptedGrant(runtime.nowMs() + 10_000));
    (grants[1] as ScriptedGrant).untold = { type: "uncertain" };
    grant(asked[0], grants);
    await runtime.advance(10);
    grants[0]?.renewed(runtime.nowMs() + 9_000);
    grants[1]?.renewals[0]?.answer.reject(new BackendError("the connection broke", { backend: "memory" }));
    await runtime.advance(2_100);
    expect(asked[0]?.cancels).toBe(1);
    expect(asked).toHaveLength(2);
    granting();
    expect(await acquiring).toHaveLength(2);
  });

  it("waits for a release of its own of any of the names", async () => {
    const first = script.provider.mutex("b").acquire();
    const held = new ScriptedGrant(runtime.nowMs() + 60_000);
    held.releaseAnswer = undefined;
    grant(asked[0], [held]);
    expect(await (await first).release({ signal: AbortSignal.abort() })).toBe("unconfirmed");
    const acquiring = claimAll(engine(), specs({ waitMs: 20_000 }));
    await runtime.advance(100);
    expect(asked).toHaveLength(1);
    held.releases[0]?.resolve(true);
    await runtime.advance(1);
    expect(asked).toHaveLength(2);
    granting();
    expect(await acquiring).toHaveLength(2);
  });

  it("is refused where the driver cannot do it", async () => {
    script = scripted(runtime, "session");
    await expect(claimAll(engine(), specs())).rejects.toBeInstanceOf(UnsupportedError);
  });
});
