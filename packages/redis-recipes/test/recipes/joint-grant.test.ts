import { InvalidArgumentError, type PrimitiveKind, UnsupportedError } from "@holdfast/core";
import type { AttemptListener, GrantRequest } from "@holdfast/core/driver";
import {
  type AcquireSpec,
  type AcquireSpecs,
  acquireKeys,
  claimAll,
  type Handle,
  resolveAcquireOptions,
  type ViewParts,
  viewPartsOf,
} from "@holdfast/core/internal";
import { describe, expect, test } from "vitest";
import { lockName, Scene } from "./scene.js";
import type { SimulatedClient } from "./simulated-client.js";

const names = [lockName, "second", "third"] as const;

function viewOf(client: SimulatedClient, name: string): ViewParts {
  const view = viewPartsOf(client.mutex(name));
  if (view === undefined) throw new Error("not a view of core's");
  return view;
}

/** Asks as a multi-lock does for its parts. */
function acquireAll(
  client: SimulatedClient,
  waitMs = 5_000,
  signal?: AbortSignal,
): Promise<readonly Handle[] | null> {
  const specs = names.map((name): AcquireSpec => {
    const view = viewOf(client, name);
    const options = resolveAcquireOptions(
      "acquire",
      { waitMs, ...(signal && { signal }) },
      view.defaults,
      acquireKeys.view,
    );
    return { ...(view.spec(options) as AcquireSpec), asksOnce: true };
  });
  return claimAll(viewOf(client, lockName).engine, specs as unknown as AcquireSpecs);
}

describe("several mutexes by one script", () => {
  test("are one request, and are renewed and released each by itself", async () => {
    const scene = new Scene();
    const client = scene.client();
    const handles = (await scene.settle(acquireAll(client))) ?? [];
    expect(handles.map(({ name, state }) => [name, state])).toEqual(names.map((name) => [name, "held"]));
    expect([scene.count("mutex-acquire-all"), scene.count("mutex-acquire")]).toEqual([1, 0]);
    await scene.runtime.advance(60_000);
    expect(handles.map(({ state }) => state)).toEqual(["held", "held", "held"]);
    for (const handle of handles) expect(await scene.settle(handle.release())).toBe("released");
    expect(names.map((name) => scene.redis.holderOf(name))).toEqual([undefined, undefined, undefined]);
  });

  test("are all given back by a caller that gives up while it hears, by the first of them, that it has lost that one", async () => {
    const scene = new Scene();
    const client = scene.client();
    const first = await scene.acquire(client);
    scene.redis.space.del(lockName);
    const caller = new AbortController();
    const givenUp = new Error("given up");
    first.lost.addEventListener("abort", () => caller.abort(givenUp));
    const asked = acquireAll(client, 5_000, caller.signal);
    await expect(scene.settle(asked)).rejects.toBe(givenUp);
    await scene.runtime.advance(1_000);
    expect([first.state, client.state.holds.size]).toEqual(["lost", 0]);
  });

  test("rule 1: that were answered before a step of the clock, and come after it was noticed, are not believed", async () => {
    const scene = new Scene();
    const client = scene.client();
    const beside = await scene.settle(client.mutex("another lock").acquire());
    let granted: readonly Handle[] | null | undefined;
    void acquireAll(client).then((handles) => {
      granted = handles;
    });
    await scene.runtime.advance(0.5);
    client.line.weather = { ...client.line.weather, delayMs: () => 250, reorders: () => true };
    await scene.runtime.advance(1);
    expect(scene.holder).toBeDefined();
    client.line.weather = { ...client.line.weather, delayMs: () => 1, reorders: () => false };
    await scene.settle(beside.confirm());
    scene.redis.offsetMs += 29_900;
    await scene.settle(beside.confirm());
    await scene.runtime.advance(100);
    // At the server the leases are over, although the answer says that they have just begun.
    expect(scene.holder).toBeUndefined();
    scene.javaTakes();
    await scene.runtime.advance(20_000);
    expect(granted).toBeNull();
    expect(names.slice(1).map((name) => scene.redis.holderOf(name))).toEqual([undefined, undefined]);
  });

  test("rule 9: that a master granted which then was replaced, are asked for anew at the one that has lost them", async () => {
    const scene = new Scene();
    const client = scene.client();
    const warm = await scene.settle(client.mutex("warm").acquire());
    await scene.settle(warm.release());
    scene.redis.replicate();
    scene.redis.replicating = false;
    let granted: readonly Handle[] | null | undefined;
    void acquireAll(client).then((handles) => {
      granted = handles;
    });
    while (scene.count("mutex-acquire-all") === 0) await scene.runtime.step();
    client.line.cut();
    scene.redis.failOver(0);
    scene.javaTakes();
    client.line.mend();
    await scene.runtime.advance(20_000);
    expect(scene.count("mutex-acquire-all")).toBeGreaterThanOrEqual(2);
    expect(granted).toBeNull();
  });
});

describe("what cannot be asked for together", () => {
  const unexpected = (): never => {
    throw new Error("nothing was to be asked");
  };
  const unheard: AttemptListener = {
    granted: unexpected,
    unavailable: unexpected,
    failed: unexpected,
    sessionEnded: unexpected,
    waiting: unexpected,
    notified: unexpected,
    requeued: unexpected,
    sequenceHigh: unexpected,
  };
  const request = (name: string, more: object = {}): GrantRequest => ({
    kind: "mutex" as PrimitiveKind,
    name,
    mode: "exclusive" as const,
    permits: 1,
    leaseMs: 30_000,
    label: null,
    revocable: false,
    mayWait: false,
    limit: null,
    variant: null,
    keepable: false,
    ...more,
  });

  test("is refused before anything is sent", () => {
    const scene = new Scene();
    const { driver } = scene.client();
    const ask = (...requests: [GrantRequest, ...GrantRequest[]]) => driver.attempt(requests, unheard);
    expect(() => ask(request("a"), request("b"), request("a"))).toThrow(InvalidArgumentError);
    // Places in several queues at once could make deadlocks.
    expect(() => ask(request("a"), request("b", { mayWait: true }))).toThrow(UnsupportedError);
    expect(() => ask(request("a"), request("b", { kind: "fair-mutex" }))).toThrow(UnsupportedError);
    expect(scene.count("mutex-acquire-all")).toBe(0);
  });

  test("is in no group, or in another one", () => {
    const { driver } = new Scene().client();
    expect(driver.jointGroup("mutex", "a")).toBe(driver.jointGroup("mutex", "b"));
    for (const kind of ["fair-mutex", "spin-mutex", "read-write-lock", "semaphore"] as const) {
      expect(driver.jointGroup(kind, "a")).toBeNull();
    }
  });
});
