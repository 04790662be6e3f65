import { BackendError, EvictedError, ProviderClosedError } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { deferred, ScriptedGrant, scripted } from "./scripted-driver.js";

const farMs = 10_000_000;

function waiting(options: { waitMs?: number } = {}) {
  const runtime = simulatedRuntime(5);
  const made = scripted(runtime, "session");
  const events: string[] = [];
  made.provider.events.on("requeued", ({ reason }) => events.push(`requeued ${reason}`));
  made.provider.events.on("acquire-settled", ({ outcome, roundTrips }) =>
    events.push(`${outcome} after ${roundTrips}`),
  );
  const acquiring = made.provider.mutex("a").acquire(options);
  const settled = acquiring.then(
    (handle) => ({ handle, error: undefined }),
    (error: unknown) => ({ handle: undefined, error }),
  );
  return { ...made, runtime, events, settled };
}

function granted(roundTrips = 1): ScriptedGrant {
  return Object.assign(new ScriptedGrant(farMs), { roundTrips });
}

describe("an acquire whose session ends", () => {
  it("asks again on the next session, reports the lost place, and counts all round trips", async () => {
    const { runtime, requests, contacts, setState, events, settled } = waiting();
    setState("lost");
    requests[0]?.progress.sessionEnded({ queued: true, roundTrips: 3 });
    await runtime.advance(1);
    expect(requests).toHaveLength(1);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    expect(requests).toHaveLength(2);
    // There is nothing to take back: the end of the session deleted everything.
    expect(requests[0]?.cancels).toBe(0);
    requests[1]?.granted.resolve(granted(2));
    expect((await settled).handle).toMatchObject({ state: "held" });
    expect(events).toEqual(["requeued session-lost", "granted after 5"]);
  });

  it("says nothing of a place that it never had, and asks again at once where the next session is there", async () => {
    const { runtime, requests, events } = waiting();
    requests[0]?.progress.sessionEnded({ queued: false, roundTrips: 1 });
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
    expect(events).toEqual([]);
  });

  it("asks again also when it asks only once, as it was not answered", async () => {
    const { runtime, requests, settled } = waiting({ waitMs: 0 });
    requests[0]?.progress.sessionEnded({ queued: false, roundTrips: 1 });
    await runtime.advance(0);
    requests[1]?.granted.resolve(granted());
    expect((await settled).handle).toMatchObject({ state: "held" });
  });

  it("does not get a grant that went with its session before the delivery, and asks again", async () => {
    for (const reason of ["session-expired", "lease-expired"] as const) {
      const { runtime, requests, events, provider } = waiting();
      const grant = granted(2);
      grant.untold = { type: "lost", reason };
      requests[0]?.granted.resolve(grant);
      await runtime.advance(0);
      expect(requests).toHaveLength(2);
      // The session may be over for this process alone. So core takes back the nodes that may still stand at the server.
      expect(requests[0]?.cancels).toBe(1);
      expect(provider.holds()).toEqual([]);
      expect(events).toEqual(["requeued session-lost"]);
    }
  });

  it("does not get a grant whose session ends while contact is being proven, and asks again", async () => {
    const { runtime, requests, events, settled } = waiting();
    const grant = granted();
    grant.untold = { type: "uncertain" };
    requests[0]?.granted.resolve(grant);
    await runtime.advance(0);
    grant.listener({ type: "lost", reason: "session-expired" });
    grant.renewals[0]?.answer.reject(new Error("the session is over"));
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
    requests[1]?.granted.resolve(granted());
    expect((await settled).handle).toMatchObject({ state: "held" });
    expect(events).toEqual(["requeued session-lost", "granted after 2"]);
  });

  it("does not give up its grant when contact breaks under the proof: the next contact shows how its session stands", async () => {
    for (const ends of [true, false]) {
      const { runtime, requests, contacts, setState, events, settled } = waiting();
      const grant = granted();
      grant.untold = { type: "uncertain" };
      requests[0]?.granted.resolve(grant);
      await runtime.advance(0);
      setState("suspended");
      grant.renewals[0]?.answer.reject(new BackendError("the connection broke", { backend: "memory" }));
      await runtime.advance(0);
      if (ends) {
        setState("lost");
        grant.listener({ type: "lost", reason: "session-expired" });
      }
      setState("connected");
      for (const contact of contacts) contact.resolve();
      await runtime.advance(0);
      if (ends) requests[1]?.granted.resolve(granted());
      else grant.renewed(farMs);
      expect((await settled).handle).toMatchObject({ state: "held" });
      const asked = ends ? ["requeued session-lost", "granted after 2"] : ["granted after 1"];
      expect(events).toEqual(asked);
    }
  });

  it("ends with an EvictedError when the proof of a grant in doubt finds that its entry was deleted", async () => {
    const { runtime, requests, settled } = waiting();
    const grant = granted();
    grant.untold = { type: "uncertain" };
    requests[0]?.granted.resolve(grant);
    await runtime.advance(0);
    grant.listener({ type: "lost", reason: "stolen" });
    grant.renewals[0]?.answer.resolve(null);
    expect((await settled).error).toBeInstanceOf(EvictedError);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.cancels).toBe(1);
  });

  it("ends with the provider while it waits for the next session", async () => {
    const { runtime, provider, requests, setState, settled } = waiting();
    setState("lost");
    requests[0]?.progress.sessionEnded({ queued: true, roundTrips: 1 });
    await runtime.advance(1);
    void provider.close();
    expect((await settled).error).toBeInstanceOf(ProviderClosedError);
  });
});

describe("an attempt in whose beginning code of the caller aborts the call", () => {
  it("is withdrawn", async () => {
    const runtime = simulatedRuntime(6);
    const controller = new AbortController();
    let withdrawn = 0;
    const { provider } = scripted(runtime, "session", {
      driver: {
        attempt() {
          controller.abort("enough");
          return {
            async withdraw() {
              withdrawn++;
            },
          };
        },
      },
    });
    await expect(provider.mutex("a").acquire({ signal: controller.signal })).rejects.toBe("enough");
    expect(withdrawn).toBe(1);
  });
});

describe("what an attempt reports after its end", () => {
  it("counts for nothing", async () => {
    const { runtime, requests, events, provider } = waiting();
    const old = requests[0]?.progress;
    provider.events.on("sequence-high", ({ sequence }) => events.push(`sequence ${sequence}`));
    old?.sessionEnded({ queued: true, roundTrips: 1 });
    old?.sessionEnded({ queued: true, roundTrips: 1 });
    old?.failed(new Error("late"));
    old?.unavailable();
    old?.granted([granted()]);
    await runtime.advance(1);
    expect(requests).toHaveLength(2);
    expect(provider.holds()).toEqual([]);
    requests[1]?.progress.failed(new Error("final"));
    old?.sequenceHigh(7);
    await runtime.advance(1);
    expect(events).toEqual(["requeued session-lost", "error after 0"]);
  });
});

describe("a grant that has to wait for something that its caller must find done", () => {
  it("reaches the caller after it, also when it fails, and in one piece", async () => {
    for (const end of ["resolve", "reject"] as const) {
      const { runtime, requests, events, settled } = waiting();
      const first = deferred<void>();
      requests[0]?.progress.granted([granted()], first.promise);
      await runtime.advance(1_000);
      expect(events).toEqual([]);
      first[end](undefined);
      expect((await settled).handle).toMatchObject({ state: "held" });
      expect(events).toEqual(["granted after 1"]);
    }
  });

  it("is asked for again when it was lost meanwhile, and is no loss of its caller's", async () => {
    const { runtime, requests, provider } = waiting();
    const losses: unknown[] = [];
    provider.events.on("lost", (event) => losses.push(event));
    const first = deferred<void>();
    const [state] = requests[0]?.progress.granted([granted()], first.promise) ?? [];
    state?.lost("lease-missing");
    await runtime.advance(0);
    expect(requests[0]?.cancels).toBe(0);
    first.resolve();
    await runtime.advance(5_000);
    expect(requests[0]?.cancels).toBe(1);
    expect(requests).toHaveLength(2);
    expect(losses).toEqual([]);
  });

  it("is given back when the call reaches its limit meanwhile", async () => {
    const { runtime, requests, settled } = waiting({ waitMs: 500 });
    requests[0]?.progress.waiting();
    requests[0]?.progress.granted([granted()], new Promise(() => {}));
    await runtime.advance(501);
    expect((await settled).error).toMatchObject({ name: "AcquireTimeoutError" });
    expect(requests[0]?.cancels).toBe(1);
  });
});

describe("a release that finds its hold gone", () => {
  it.each([
    ["says what the backend answered", "stolen"],
    ["says what ended it meanwhile", "session-expired"],
  ] as const)("%s", async (_what, reason) => {
    const { runtime, requests, provider, settled } = waiting();
    await runtime.advance(1);
    const grant = Object.assign(granted(), { releaseAnswer: undefined });
    requests[0]?.granted.resolve(grant);
    const { handle } = await settled;
    const released: unknown[] = [];
    provider.events.on("released", (event) => released.push([event.outcome, event.reason]));
    const releasing = handle?.release();
    await runtime.advance(1);
    if (reason === "stolen") grant.releases[0]?.resolve(false);
    else grant.listener({ type: "lost", reason });
    expect(await releasing).toBe("lost");
    expect(released).toEqual([["lost", reason]]);
  });
});
