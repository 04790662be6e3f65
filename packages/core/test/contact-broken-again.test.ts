import { BackendError, type LockHandle } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

const farMs = 1e12;

describe("contact that breaks again in the tick in which it came back", () => {
  it("is an outage of its own for a waiter: connectTimeoutMs bounds it anew", async () => {
    const runtime = simulatedRuntime(30);
    const { provider, contacts, setState } = scripted(runtime, "session", { connectTimeoutMs: 3_000 });
    const errors: unknown[] = [];
    provider
      .mutex("a")
      .acquire()
      .catch((error) => errors.push(error));
    await runtime.advance(1);
    setState("suspended");
    await runtime.advance(2_000);
    setState("connected");
    contacts[0]?.resolve();
    setState("suspended");
    await runtime.advance(2_000);
    expect(contacts).toHaveLength(2);
    const outage = new BackendError("nobody answered", { backend: "memory" });
    setState("lost");
    await runtime.advance(1_000);
    contacts[1]?.reject(outage);
    await runtime.advance(1);
    expect(errors).toEqual([outage]);
  });

  it("keeps a grant back that was proven before it: another round trip has to show that it stands", async () => {
    const runtime = simulatedRuntime(31);
    const { provider, last, contacts, setState } = scripted(runtime, "session");
    const states: string[] = [];
    const acquired = provider.mutex("a").acquire();
    void acquired.then((handle) => states.push(handle.state));
    await runtime.advance(1);
    const grant = new ScriptedGrant(farMs);
    grant.untold = { type: "uncertain" };
    setState("suspended");
    last().granted.resolve(grant);
    await runtime.advance(1);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    // The proof is answered, but contact breaks before core has processed the answer.
    grant.renewals[0]?.answer.resolve(farMs);
    setState("suspended");
    grant.listener({ type: "uncertain" });
    await runtime.advance(1);
    expect(states).toEqual([]);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    expect(states).toEqual([]);
    grant.renewals[1]?.answer.resolve(farMs);
    await runtime.advance(1);
    expect(states).toEqual(["held"]);
  });

  it("keeps a read back that was proven before it, and its write is held as before", async () => {
    const runtime = simulatedRuntime(32);
    const { provider, last, downgrades, contacts, setState } = scripted(runtime, "session");
    const writing = provider.readWriteLock("a").write.acquire();
    const writeGrant = new ScriptedGrant(farMs);
    last().granted.resolve(writeGrant);
    const write = await writing;
    const reads: LockHandle[] = [];
    void write.downgrade().then((read) => reads.push(read));
    await runtime.advance(1);
    const grant = new ScriptedGrant(farMs);
    grant.untold = { type: "uncertain" };
    setState("suspended");
    downgrades[0]?.answer.resolve(grant);
    await runtime.advance(1);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    grant.renewals[0]?.answer.resolve(farMs);
    setState("suspended");
    grant.listener({ type: "uncertain" });
    await runtime.advance(1);
    expect(reads).toEqual([]);
    expect(writeGrant.releases).toEqual([]);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    grant.renewals[1]?.answer.resolve(farMs);
    await runtime.advance(1);
    expect(reads.map(({ state }) => state)).toEqual(["held"]);
  });
});
