import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { InteropFixture, watchesSet } from "./fixture.js";

const waitMs = 30_000;
const limit = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(15_000) });

describe.each(await curatorVersionsInShare())("revocation with Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  it("our revocable holder hears Curator's Revoker, and holds until it lets go", async () => {
    const path = "/revoke/ours";
    const locks = await fixture.ours();
    const theirs = await client.mutex(path);
    const lock = await locks.mutex(path).acquire({ waitMs, revocable: true });
    const { revokeRequested } = lock;
    const [node = ""] = await theirs.participants();
    await client.attemptRevoke(node);
    if (!revokeRequested.aborted) await once(revokeRequested, "abort", limit());
    expect(lock.state).toBe("held");
    await lock.confirm();
    expect(await theirs.acquire({ waitMs: 0 })).toBeNull();
    expect(await lock.release()).toBe("released");
    expect(await theirs.acquire({ waitMs: 5_000 })).not.toBeNull();
    await theirs.release();
  });

  it("Curator's revocable holder hears our requestRevoke(), and holds until it lets go", async () => {
    const path = "/revoke/curators";
    const theirs = await client.mutex(path);
    const { revoked } = await theirs.makeRevocable();
    await theirs.acquire();
    const mutex = (await fixture.ours()).mutex(path);
    expect(await mutex.requestRevoke()).toBe(true);
    await revoked;
    expect(await mutex.tryAcquire()).toBeNull();
    await theirs.release();
    await using lock = await mutex.acquire({ waitMs });
    lock.assertHeld();
  });

  it("requestRevoke() says false where there is no holder", async () => {
    const locks = await fixture.ours();
    expect(await locks.mutex("/revoke/nobody").requestRevoke()).toBe(false);
  });

  it("a holder of ours that did not say revocable stays undisturbed", async () => {
    const path = "/revoke/deaf";
    const locks = await fixture.ours();
    const lock = await locks.mutex(path).acquire({ waitMs });
    const { lost, revokeRequested } = lock;
    const theirs = await client.mutex(path);
    const [node = ""] = await theirs.participants();
    await client.attemptRevoke(node);
    const [, dumped] = await client.dump(path);
    expect(Buffer.from(dumped?.data ?? []).toString()).toBe("__REVOKE__");
    // This answer arrives on the same connection behind any event that the write has caused.
    await lock.confirm();
    expect(lock.state).toBe("held");
    expect(lost.aborted).toBe(false);
    expect(revokeRequested.aborted).toBe(false);
    await lock.release();
  });

  it("a revocation of the holder does not let our waiter in", async () => {
    const path = "/revoke/waiter";
    const theirs = await client.mutex(path);
    const held = await theirs.acquire();
    const locks = await fixture.ours();
    let granted = false;
    const queued = locks.mutex(path).acquire({ waitMs });
    queued.then(
      () => {
        granted = true;
      },
      () => {}, // awaited below
    );
    await expect.poll(() => theirs.participants()).toHaveLength(2);
    await watchesSet(locks, path);
    await client.attemptRevoke(held?.path ?? "");
    await client.attemptRevoke((await theirs.participants())[1] ?? "");
    // Both writes have fired our watches before this is answered.
    await locks.mutex(path).inspect();
    expect(granted).toBe(false);
    await theirs.release();
    await (await queued).release();
  });
});
