import {
  BackendError,
  InvalidArgumentError,
  type LockEventMap,
  type LockHandle,
  MemorySpace,
  memoryLocks,
  NotHeldError,
  systemRuntime,
  UnsupportedError,
} from "@holdfast/core";
import { Handle } from "@holdfast/core/internal";
import { describe, expect, it } from "vitest";
import { KeepableGrant, KeepingStage } from "./keeping-stage.js";
import { scripted } from "./scripted-driver.js";

function record<K extends keyof LockEventMap>(stage: KeepingStage, type: K): LockEventMap[K][] {
  const seen: LockEventMap[K][] = [];
  stage.provider.events.on(type, (event) => seen.push(event));
  return seen;
}

describe("a lock that its provider keeps", () => {
  it("goes to the next owner without a request, and to one at a time", async () => {
    const stage = new KeepingStage();
    const settled = record(stage, "acquire-settled");
    const released = record(stage, "released");
    const grant = await stage.kept();
    expect(stage.requests).toBe(2);
    expect(stage.provider.holds()).toEqual([]);
    expect(stage.provider.kept()).toMatchObject([{ kind: "mutex", name: "a", lends: 0, lent: false }]);
    const third = await stage.mutex().acquire();
    expect(third.turn).toBe(1);
    expect(third.remainingMs()).toBe(1e9 - stage.runtime.nowMs());
    expect(stage.provider.kept()).toMatchObject([{ lends: 1, lent: true }]);
    expect(stage.provider.holds()).toEqual([third]);
    const fourth = stage.mutex().acquire();
    await stage.rest();
    expect(stage.provider.holds()).toEqual([third]);
    expect(await third.release()).toBe("kept");
    const handle = await fourth;
    expect(third.state).toBe("released");
    expect(handle.state).toBe("held");
    expect(await handle.release()).toBe("kept");
    expect(stage.requests).toBe(2);
    expect(grant.releases).toEqual([]);
    expect(settled.map(({ kept, turn, roundTrips }) => ({ kept, turn, roundTrips }))).toEqual([
      { kept: false, turn: 0, roundTrips: 1 },
      { kept: false, turn: 0, roundTrips: 1 },
      { kept: true, turn: 1, roundTrips: 0 },
      { kept: true, turn: 2, roundTrips: 0 },
    ]);
    // The fourth acquire had to wait for the third hold.
    expect(settled.map(({ contended }) => contended)).toEqual([false, false, false, true]);
    expect(released.map(({ outcome, kept, turn }) => ({ outcome, kept, turn }))).toEqual([
      { outcome: "released", kept: false, turn: 0 },
      { outcome: "kept", kept: false, turn: 0 },
      { outcome: "kept", kept: true, turn: 1 },
      { outcome: "kept", kept: true, turn: 2 },
    ]);
  });

  it("whose driver draws a token for each owner is lent although tokens were read, and its turn stays 0", async () => {
    const stage = new KeepingStage();
    const settled = record(stage, "acquire-settled");
    const released = record(stage, "released");
    const grant = await stage.kept(stage.mutex(), { draws: true });
    const handles: LockHandle[] = [];
    for (let pair = 0; pair < 3; pair++) {
      const handle = await stage.mutex().acquire();
      expect(handle.token).toBe(grant.token);
      expect(await handle.release()).toBe("kept");
      handles.push(handle);
    }
    // Each handle keeps the token of its own lend, even if that token is first read after later lends.
    const unread = await stage.mutex().acquire();
    await unread.release();
    await (await stage.mutex().acquire()).release();
    expect([...handles, unread].map(({ token, turn }) => [token, turn])).toEqual(
      [3n, 4n, 5n, 6n].map((token) => [token, 0]),
    );
    expect(settled.slice(2).map(({ token, kept, turn }) => [token, kept, turn])).toEqual(
      [3n, 4n, 5n, 6n, 7n].map((token) => [token, true, 0]),
    );
    expect(released.slice(2).map(({ kept, turn }) => [kept, turn])).toEqual(
      [1, 2, 3, 4, 5].map(() => [true, 0]),
    );
    expect(stage.requests).toBe(2);
  });

  it("is renewed for its next owner by what is left of its lease, and not a third of a lease later", async () => {
    const stage = new KeepingStage({}, "ttl");
    const grant = await stage.kept();
    grant.untilMs = stage.runtime.nowMs() + 10_001;
    const handle = await stage.mutex().acquire();
    expect(handle.turn).toBe(1);
    await stage.runtime.advance(3_000);
    expect(grant.renewals).toHaveLength(1);
    grant.renewed(stage.runtime.nowMs() + 30_000);
    await stage.runtime.advance(9_000);
    expect(handle.state).toBe("held");
  });

  it("is given back with the reason for which it is kept no longer", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    const reasons: unknown[] = [];
    const release = grant.release.bind(grant);
    grant.release = (reason?: unknown) => {
      reasons.push(reason);
      return release();
    };
    await stage.runtime.advance(1_001);
    expect(reasons).toEqual(["idle"]);
  });

  it("goes to local waiters in the order in which they asked, and past those that gave up", async () => {
    const stage = new KeepingStage();
    await stage.kept();
    const order: number[] = [];
    const holder = await stage.mutex().acquire();
    const controller = new AbortController();
    const waiting = [1, 2, 3, 4].map(async (number) => {
      const options = number === 2 ? { signal: controller.signal } : {};
      const handle = await stage.mutex().acquire(options);
      order.push(number);
      await handle.release();
    });
    await stage.rest();
    controller.abort(new Error("given up"));
    await holder.release();
    await Promise.allSettled(waiting);
    expect(order).toEqual([1, 3, 4]);
    expect(stage.requests).toBe(2);
  });

  it("that is idle is granted to a call which asks once, and refused to it while another owner has it", async () => {
    const stage = new KeepingStage();
    await stage.kept();
    const handle = await stage.mutex().tryAcquire();
    expect(handle?.turn).toBe(1);
    expect(await stage.mutex().tryAcquire()).toBeNull();
    // Both requests wait in memory for the next turn of the event loop. The second must be refused, not left there.
    await handle?.release();
    await stage.runtime.advance(20);
    const both = await Promise.all([stage.mutex().tryAcquire(), stage.mutex().tryAcquire()]);
    expect(both.map((each) => each?.turn)).toEqual([2, undefined]);
    expect(stage.requests).toBe(2);
  });

  it("is kept further when its next owner gives up in the moment of the lend", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    await (await stage.mutex().acquire()).release();
    await stage.rest();
    const controller = new AbortController();
    // The event loop has just turned. So the lock is lent in this very step, and the handle is delivered a microtask later.
    const asked = stage.mutex().acquire({ signal: controller.signal });
    expect(stage.provider.kept()).toMatchObject([{ lent: true, lends: 2 }]);
    controller.abort(new Error("given up"));
    await expect(asked).rejects.toThrow("given up");
    expect(grant.releases).toEqual([]);
    expect((await stage.mutex().acquire()).turn).toBe(3);
  });

  it("is given back when its next owner gives up in the moment of the lend, and another client wants it", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    await (await stage.mutex().acquire()).release();
    await stage.rest();
    const controller = new AbortController();
    const asked = stage.mutex().acquire({ signal: controller.signal });
    expect(stage.provider.kept()).toMatchObject([{ lent: true }]);
    grant.state.wanted();
    controller.abort(new Error("given up"));
    await expect(asked).rejects.toThrow("given up");
    expect(grant.releases).toHaveLength(1);
    expect(stage.provider.kept()).toEqual([]);
  });

  it("reaches its driver's grant only for the present owner: a late release of a former one deletes nothing", async () => {
    const stage = new KeepingStage();
    const first = await stage.ask();
    await first.handle.release();
    const { handle: former, grant } = await stage.ask();
    await former.release();
    const present = await stage.mutex().acquire();
    const late = Handle.holdOf(former as Handle).grant;
    expect(await late.release()).toBe(false);
    expect(await late.prove(1_000)).toBeNull();
    expect(late.validUntilMs()).toBe(0);
    expect(grant.releases).toEqual([]);
    expect(present.state).toBe("held");
    expect(await present.release()).toBe("kept");
  });
});

describe("a release keeps nothing", () => {
  it("after the first grant, nor when another client had the lock between the last two", async () => {
    const stage = new KeepingStage();
    const first = await stage.ask();
    expect(await first.handle.release()).toBe("released");
    const asked = stage.mutex().acquire();
    const grant = await stage.grant({ follows: false });
    expect(await (await asked).release()).toBe("released");
    expect(grant.asked).toBe(0);
    const third = await stage.ask();
    expect(await third.handle.release()).toBe("kept");
  });

  it("of a grant whose place in the lock's history is not known, however often it comes in a row", async () => {
    const stage = new KeepingStage();
    for (let pair = 0; pair < 3; pair++) {
      const asked = stage.mutex().acquire();
      const grant = new KeepableGrant(1e9);
      const [request] = await stage.newRequests();
      request?.granted.resolve(grant);
      expect(await (await asked).release()).toBe("released");
      expect(grant.asked).toBe(0);
    }
    // The grant after an unknown one is not kept either: the known grant that it follows is no longer the provider's last.
    await (await stage.ask(stage.mutex("b"))).handle.release();
    const unknown = stage.mutex("b").acquire();
    const [request] = await stage.newRequests();
    request?.granted.resolve(new KeepableGrant(1e9));
    await (await unknown).release();
    expect(await (await stage.ask(stage.mutex("b"))).handle.release()).toBe("released");
  });

  it("when the grant was waited for, or its driver has heard of another client", async () => {
    const stage = new KeepingStage();
    await (await stage.ask()).handle.release();
    const asked = stage.mutex().acquire();
    await stage.grant({ contended: true });
    expect(await (await asked).release()).toBe("released");
    const second = stage.mutex().acquire();
    const heard = await stage.grant();
    heard.keeps = false;
    expect(await (await second).release()).toBe("released");
    expect(heard.releases).toHaveLength(1);
  });

  it("once contact was in doubt since the grant, also when it is certain again", async () => {
    const stage = new KeepingStage();
    await (await stage.ask()).handle.release();
    const { handle, grant } = await stage.ask();
    grant.state.uncertain();
    expect(handle.state).toBe("uncertain");
    grant.state.recovered();
    expect(handle.state).toBe("held");
    expect(await handle.release()).toBe("released");
    expect(grant.asked).toBe(0);
  });

  it("after a jump of the clock that no renewal has answered, nor for another lease", async () => {
    const stage = new KeepingStage({}, "ttl");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    stage.runtime.stepWall(60_000);
    expect(holder.state).toBe("uncertain");
    expect(await holder.release()).toBe("released");
    expect(grant.releases).toHaveLength(1);
    const anew = await stage.kept(stage.mutex("b"));
    void stage.mutex("b").acquire({ leaseMs: 5_000 });
    expect(await stage.newRequests()).toHaveLength(1);
    expect(anew.releases).toHaveLength(1);
  });

  it("with keep: false, and says why the keeping has ended", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const handle = await stage.mutex().acquire();
    expect(await handle.release({ keep: false })).toBe("released");
    expect(grant.releases).toHaveLength(1);
    await stage.rest();
    expect(ended).toMatchObject([{ reason: "released", lends: 1, name: "a", kind: "mutex" }]);
    await expect(handle.release({ keep: 1 } as never)).rejects.toThrow(InvalidArgumentError);
  });

  it("after a read was taken beside the write, for a kept write would be lent beside its own read", async () => {
    const stage = new KeepingStage();
    const lock = stage.provider.readWriteLock("a");
    await stage.kept(lock.write);
    const write = await lock.write.acquire();
    const downgrading = write.downgrade();
    await stage.rest();
    const [{ write: shown, answer }] = stage.made.downgrades as [(typeof stage.made.downgrades)[0]];
    const grant = new KeepableGrant(1e9);
    answer.resolve(grant);
    const read = await downgrading;
    // The driver must get the grant that it made, not the `Tenant` by which core wraps it.
    expect(shown).toMatchObject({ releases: [expect.anything()] });
    expect(read.turn).toBe(1);
    expect(stage.provider.kept()).toEqual([]);
  });

  it("once as many are kept as maxKept says and all are lent; of idle ones the longest idle goes", async () => {
    const stage = new KeepingStage({ maxKept: 2 });
    const ended = record(stage, "keeping-ended");
    const grants = [];
    for (const name of ["a", "b", "c"]) {
      grants.push(await stage.kept(stage.mutex(name)));
      await stage.runtime.advance(10);
    }
    expect(stage.provider.kept().map(({ name }) => name)).toEqual(["b", "c"]);
    expect(grants[0]?.releases).toHaveLength(1);
    expect(ended).toMatchObject([{ name: "a", reason: "evicted", lends: 0 }]);
    await stage.mutex("b").acquire();
    await stage.mutex("c").acquire();
    await expect(stage.kept(stage.mutex("d"))).rejects.toThrow("was not kept: released");
  });
});

it("of many names as many are kept as maxKept says, and all others are given back as ever", async () => {
  const space = new MemorySpace();
  await using locks = memoryLocks({ space, keepMs: 60_000, maxKept: 50 });
  for (let name = 0; name < 300; name++) {
    for (let pair = 0; pair < 2; pair++) await (await locks.mutex(`n${name}`).acquire()).release();
  }
  expect(locks.kept().map(({ name }) => name)).toEqual(Array.from({ length: 50 }, (_, i) => `n${250 + i}`));
  expect(space.names()).toHaveLength(50);
  for (let name = 0; name < 300; name++) await (await locks.mutex(`once${name}`).acquire()).release();
  expect(space.names()).toHaveLength(50);
});

describe("a token", () => {
  it("that was read is lent to no second owner, and that was not read is shown to none who has released", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const unread = await stage.mutex().acquire();
    await unread.release();
    expect(() => unread.token).toThrow(NotHeldError);
    const reader = await stage.mutex().acquire();
    expect(reader.token).toBe(2n);
    expect(await reader.release()).toBe("released");
    expect(reader.token).toBe(2n);
    expect(grant.releases).toHaveLength(1);
    await stage.rest();
    expect(ended).toMatchObject([{ reason: "token-read", lends: 2 }]);
  });

  it("is seen by events without being read", async () => {
    const stage = new KeepingStage();
    const settled = record(stage, "acquire-settled");
    await stage.kept();
    expect(await (await stage.mutex().acquire()).release()).toBe("kept");
    expect(settled.map(({ token }) => token)).toEqual([1n, 2n, 2n]);
  });

  it("may be read and lent again where the resource compares token and turn", async () => {
    const stage = new KeepingStage({ fenceBy: "token-and-turn" });
    const grant = await stage.kept();
    const handle = await stage.mutex().acquire();
    expect({ token: handle.token, turn: handle.turn }).toEqual({ token: 2n, turn: 1 });
    expect(await handle.release()).toBe("kept");
    expect(handle.token).toBe(2n);
    expect(grant.releases).toEqual([]);
  });
});

describe("the wish of another client", () => {
  it("ends an idle keeping at once, and the next owner asks the backend behind it", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    await stage.runtime.advance(7);
    grant.state.wanted();
    expect(grant.releases).toHaveLength(1);
    expect(stage.provider.kept()).toEqual([]);
    const { handle } = await stage.ask();
    expect(handle.turn).toBe(0);
    expect(ended).toMatchObject([{ reason: "wanted", lends: 0, forMs: 7 }]);
  });

  it("that the driver hears of while it is asked to keep the lock gives it back at once", async () => {
    const stage = new KeepingStage();
    await (await stage.ask()).handle.release();
    const { handle, grant } = await stage.ask();
    grant.keep = () => {
      grant.state.wanted();
      return true;
    };
    expect(await handle.release()).toBe("kept");
    expect(grant.releases).toHaveLength(1);
    expect(stage.provider.kept()).toEqual([]);
  });

  it("lets the next request for the lock leave only once the delete was answered", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    await stage.newRequests();
    grant.releaseAnswer = undefined;
    grant.state.wanted();
    void stage.mutex().acquire();
    expect(await stage.newRequests()).toHaveLength(0);
    grant.releases[0]?.resolve(true);
    expect(await stage.newRequests()).toHaveLength(1);
  });

  it("lets the present owner finish; those who stand in memory ask the backend at once and in their order, later ones behind them", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    for (const label of ["first", "second"]) void stage.mutex().acquire({ label });
    expect(await stage.newRequests()).toHaveLength(0);
    grant.state.wanted();
    void stage.mutex().acquire({ label: "third" });
    expect((await stage.newRequests()).map(({ request }) => request.label)).toEqual([
      "first",
      "second",
      "third",
    ]);
    expect(holder.state).toBe("held");
    expect(grant.releases).toEqual([]);
    expect(await holder.release()).toBe("released");
    expect(grant.releases).toHaveLength(1);
  });

  it("is also a request of this provider that is unlike: a read, another lease, fresh, a label that is shown, a view that keeps nothing", async () => {
    const unlike: ((stage: KeepingStage) => unknown)[] = [
      (stage) => stage.mutex().acquire({ fresh: true }),
      (stage) => stage.mutex("a", { keepMs: 0 }).acquire(),
      (stage) => stage.mutex("a", { fenceBy: "token-and-turn" }).acquire(),
      (stage) => stage.mutex().acquire({ label: "other" }),
      (stage) => stage.provider.reentrantMutex("a").acquire(),
    ];
    for (const ask of unlike) {
      const stage = new KeepingStage({ identity: true });
      const ended = record(stage, "keeping-ended");
      const grant = await stage.kept();
      const holder = await stage.mutex().acquire();
      const like = stage.mutex().acquire();
      expect(await stage.newRequests()).toHaveLength(0);
      void ask(stage);
      // The waiter in memory must ask the backend too, before the new request does.
      expect(await stage.newRequests()).toHaveLength(2);
      expect(stage.made.requests[2]?.request).toMatchObject({ label: null, kind: "mutex", keepable: true });
      expect(await holder.release()).toBe("released");
      expect(grant.releases).toHaveLength(1);
      await stage.rest();
      expect(ended).toMatchObject([{ reason: "not-lendable" }]);
      void like;
    }
    const stage = new KeepingStage();
    const { read, write } = stage.provider.readWriteLock("a");
    const grant = await stage.kept(write);
    void read.acquire();
    const [request] = await stage.newRequests();
    expect(request?.request).toMatchObject({ mode: "shared", keepable: false });
    expect(grant.releases).toHaveLength(1);
  });

  it("that was not shown by a label is like any other, where labels are not shown", async () => {
    const stage = new KeepingStage();
    await stage.kept();
    expect((await stage.mutex().acquire({ label: "other" })).turn).toBe(1);
  });

  it("by revocation reaches the present owner only if that one has asked for it", async () => {
    const stage = new KeepingStage();
    const revoked = record(stage, "revoke-requested");
    const grant = await stage.kept();
    const deaf = await stage.mutex().acquire();
    grant.state.revokeRequested();
    expect(revoked).toEqual([]);
    await deaf.release();
    const asked = await stage.mutex().acquire({ revocable: true });
    const { revokeRequested } = asked;
    grant.state.revokeRequested();
    expect(revokeRequested.aborted).toBe(true);
    expect(revoked).toHaveLength(1);
  });
});

describe("a keeping is lent only after a look at", () => {
  it('what the driver knows: "no" gives it back, "soon" waits for the answer', async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    grant.may = "soon";
    let granted = false;
    const asked = stage
      .mutex()
      .acquire()
      .then((handle) => {
        granted = true;
        return handle;
      });
    await stage.rest();
    expect(granted).toBe(false);
    grant.may = "yes";
    grant.state.answered();
    expect((await asked).turn).toBe(1);
    expect(await (await asked).release()).toBe("kept");
    grant.may = "no";
    const anew = await stage.ask();
    expect(grant.releases).toHaveLength(1);
    expect(anew.handle.turn).toBe(0);
  });

  it("the clock, and not a timer: keepMs since the last release, maxKeepMs since the grant", async () => {
    const stage = new KeepingStage({ keepMs: 1_000, maxKeepMs: 2_500 });
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    stage.runtime.block(999);
    await (await stage.mutex().acquire()).release();
    stage.runtime.block(1_000);
    await stage.ask();
    expect(grant.releases).toHaveLength(1);
    await stage.rest();
    expect(ended).toMatchObject([{ reason: "idle", lends: 1 }]);
    const other = await stage.kept(stage.mutex("b"));
    for (let lend = 0; lend < 2; lend++) {
      stage.runtime.block(999);
      await (await stage.mutex("b").acquire()).release();
    }
    stage.runtime.block(502);
    await stage.ask(stage.mutex("b"));
    expect(other.releases).toHaveLength(1);
    await stage.rest();
    expect(ended.slice(1)).toMatchObject([{ reason: "max-keep", lends: 2 }]);
  });

  it("a turn of the event loop, where the last was more than 5 ms ago: what the sockets have is heard first", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    await (await stage.mutex().acquire()).release();
    await stage.rest();
    // The loop has just turned: acquire and release take microtasks alone.
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await (await stage.mutex().acquire()).release();
    expect(turned).toBe(false);
    await stage.rest();
    // Plays a process that was busy for 6 ms, while another client's wish lies unread in the socket.
    stage.runtime.block(6);
    setImmediate(() => grant.state.wanted());
    const before = stage.requests;
    const release = grant.release.bind(grant);
    grant.release = () => {
      // The delete must leave before the request of the waiter in memory.
      expect(stage.requests).toBe(before);
      return release();
    };
    const { handle } = await stage.ask();
    expect(handle.turn).toBe(0);
    expect(grant.releases).toHaveLength(1);
  });

  it("a turn of the event loop of its own, where the waiter for which one began has gone meanwhile", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    await stage.rest();
    stage.runtime.block(6);
    const stop = new AbortController();
    const gone = expect(stage.mutex().acquire({ signal: stop.signal })).rejects.toBe("gone");
    stop.abort("gone");
    // The process is busy within that turn. The next waiter comes then, while another client's wish lies unread in the socket.
    let lent = false;
    setImmediate(() => {
      stage.runtime.block(6);
      void stage
        .mutex()
        .acquire()
        .then(({ turn }) => {
          lent = turn > 0;
        });
      setImmediate(() => grant.state.wanted());
    });
    await gone;
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect({ lent, releases: grant.releases.length }).toEqual({ lent: false, releases: 1 });
  });

  it("a turn of the event loop every 5 ms, however many lends there are in between", async () => {
    // Each reading of the clock takes 0.05 ms; no other time passes.
    let nowMs = 0;
    const runtime = {
      ...systemRuntime,
      nowMs: () => {
        nowMs += 0.05;
        return nowMs;
      },
    };
    const locks = memoryLocks({ keepMs: 1e6, maxKeepMs: 1e6, runtime });
    const mutex = locks.mutex("a");
    for (let pair = 0; pair < 2; pair++) await (await mutex.acquire()).release();
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns++;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const beganMs = nowMs;
    for (let lend = 1; lend <= 2_000; lend++) {
      const handle = await mutex.acquire();
      expect(handle.turn).toBe(lend);
      await handle.release();
    }
    counting = false;
    const tookMs = nowMs - beganMs;
    expect(turns).toBeGreaterThan(tookMs / 10);
    expect(turns).toBeLessThan(1_000);
    await locks.close();
  });
});

describe("a keeping ends", () => {
  it("by itself when it was idle for keepMs, counted from its last release", async () => {
    const stage = new KeepingStage({ keepMs: 1_000 });
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    await stage.runtime.advance(600);
    await (await stage.mutex().acquire()).release();
    await stage.runtime.advance(999);
    expect(grant.releases).toEqual([]);
    await stage.runtime.advance(1);
    expect(grant.releases).toHaveLength(1);
    expect(ended).toMatchObject([{ reason: "idle", lends: 1, forMs: 1_600 }]);
    expect(stage.runtime.pendingTimers).toBe(0);
  });

  it("not while it has an owner: keepMs begins anew with each release, by the time of the view that had it last", async () => {
    const stage = new KeepingStage({ keepMs: 1_000 });
    const grant = await stage.kept();
    const holder = await stage.mutex("a", { keepMs: 100 }).acquire();
    await stage.runtime.advance(3_000);
    expect(await holder.release()).toBe("kept");
    await stage.runtime.advance(99);
    expect(grant.releases).toEqual([]);
    await stage.runtime.advance(1);
    expect(grant.releases).toHaveLength(1);
    const sooner = await stage.kept(stage.mutex("b"));
    await (await stage.mutex("b", { keepMs: 100 }).acquire()).release();
    await stage.runtime.advance(100);
    expect(sooner.releases).toHaveLength(1);
  });

  it("with an event that comes behind the step that has ended it", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    grant.state.wanted();
    expect(ended).toEqual([]);
    await stage.rest();
    expect(ended).toHaveLength(1);
  });

  it("with a delete that is refused or not answered: the event names the owner that had it last", async () => {
    for (const [reason, error] of [
      ["unconfirmed", new BackendError("no answer", { backend: "memory", retryable: true })],
      ["refused", new BackendError("no right", { backend: "memory", retryable: false })],
    ] as const) {
      const stage = new KeepingStage();
      const failed = record(stage, "release-failed");
      const grant = await stage.kept();
      const last = await stage.mutex().acquire({ label: "last" });
      await last.release();
      grant.release = () => Promise.reject(error);
      grant.state.wanted();
      await stage.rest();
      expect(failed).toMatchObject([{ name: "a", reason, error, owner: last.owner }]);
    }
  });

  it("before close() does, which waits for the delete; but where the driver's end frees all, nothing is sent without a grace", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    grant.releaseAnswer = undefined;
    const closing = stage.provider.close();
    let closed = false;
    void closing.then(() => {
      closed = true;
    });
    await stage.rest();
    expect([grant.releases.length, closed]).toEqual([1, false]);
    grant.releases[0]?.resolve(true);
    await closing;
    for (const [graceMs, releases] of [
      [undefined, 0],
      [100, 1],
    ] as const) {
      const freeing = new KeepingStage({}, "session", { closeReleasesAll: true });
      const ended = record(freeing, "keeping-ended");
      const kept = await freeing.kept();
      // A grace is for a hold such as this one. The idle kept lock does not wait for it.
      await freeing.ask(freeing.mutex("held"));
      void freeing.provider.close(graceMs === undefined ? {} : { graceMs });
      await freeing.rest();
      expect(kept.releases).toHaveLength(releases);
      expect(ended).toMatchObject([{ reason: "closed" }]);
    }
  });

  it("with the release of the owner that had it when maxKeepMs was over", async () => {
    const stage = new KeepingStage({ maxKeepMs: 2_500 });
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    await stage.runtime.advance(2_500);
    expect(await holder.release()).toBe("released");
    expect(grant.releases).toHaveLength(1);
    await stage.rest();
    expect(ended).toMatchObject([{ reason: "max-keep", lends: 1 }]);
  });

  it("with a release that does not keep, and what stands in memory asks the backend behind it", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    void stage.mutex().acquire({ label: "waits" });
    expect(await stage.newRequests()).toHaveLength(0);
    void holder.release({ keep: false });
    expect(grant.releases).toHaveLength(1);
    expect((await stage.newRequests()).map(({ request }) => request.label)).toEqual(["waits"]);
  });

  it("with the lease of its owner, and with the provider that closes over it", async () => {
    const stage = new KeepingStage({}, "ttl");
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    grant.untilMs = stage.runtime.nowMs() + 100;
    await stage.runtime.advance(60_000);
    expect(holder.state).toBe("lost");
    await stage.kept(stage.mutex("b"));
    await stage.mutex("b").acquire();
    void stage.provider.close();
    await stage.rest();
    expect(ended.map(({ name, reason }) => [name, reason])).toEqual([
      ["a", "lost"],
      ["b", "closed"],
    ]);
  });

  it("for the first of several reasons", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    grant.state.wanted();
    void stage.mutex().acquire({ fresh: true });
    grant.state.uncertain();
    await holder.release();
    await stage.rest();
    expect(ended).toMatchObject([{ reason: "wanted" }]);
  });

  it("once, also when the entry is lost while its last owner gives it back", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    grant.releaseAnswer = undefined;
    const released = holder.release({ keep: false });
    grant.state.lost("stolen");
    grant.releases[0]?.resolve(false);
    expect(await released).toBe("lost");
    await stage.rest();
    expect(ended).toMatchObject([{ reason: "released" }]);
  });

  it("with contact, where a wish may have been missed: what is idle is deleted with the next contact, a name that is asked for first", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grants = [await stage.kept(stage.mutex("a")), await stage.kept(stage.mutex("b"))] as const;
    stage.made.setState("suspended");
    for (const grant of grants) grant.state.uncertain();
    expect(grants.map(({ releases }) => releases.length)).toEqual([0, 0]);
    expect(stage.provider.kept()).toEqual([]);
    stage.made.setState("connected");
    const asked = stage.mutex("b").acquire();
    expect(grants.map(({ releases }) => releases.length)).toEqual([0, 1]);
    await stage.rest();
    expect(grants.map(({ releases }) => releases.length)).toEqual([1, 1]);
    await stage.grant();
    expect((await asked).turn).toBe(0);
    expect(ended.map(({ reason }) => reason)).toEqual(["lost", "lost"]);
  });

  it("with contact, and close() in the outage waits for the delete, as for that of a hold", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    grant.releaseAnswer = undefined;
    stage.made.setState("suspended");
    grant.state.uncertain();
    let closed = false;
    const closing = stage.provider.close().then(() => {
      closed = true;
    });
    await stage.rest();
    expect([grant.releases.length, closed]).toEqual([1, false]);
    grant.releases[0]?.resolve(true);
    await closing;
  });

  it("with contact, and what waits in memory for an answer or a turn asks the backend", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    grant.may = "soon";
    void stage.mutex().acquire({ label: "waits" });
    expect(await stage.newRequests()).toHaveLength(0);
    grant.state.uncertain();
    expect((await stage.newRequests()).map(({ request }) => request.label)).toEqual(["waits"]);
    expect(grant.releases).toEqual([]);
  });

  it("with its entry, once: what comes after the loss of an idle one changes nothing, and deletes nothing", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const first = await stage.ask(stage.mutex("never kept"));
    first.grant.state.lost("stolen");
    const grant = await stage.kept();
    grant.state.lost("session-expired");
    grant.state.uncertain();
    stage.made.setState("suspended");
    stage.made.setState("connected");
    await stage.rest();
    expect(grant.releases).toEqual([]);
    expect(ended).toMatchObject([{ name: "a", reason: "lost" }]);
  });

  it("beside the next one of its name, which stays when the last owner of the one before loses its grant", async () => {
    const stage = new KeepingStage();
    const before = await stage.kept();
    const holder = await stage.mutex().acquire();
    before.releaseAnswer = undefined;
    void holder.release({ keep: false });
    const next = await stage.ask();
    expect(await next.handle.release()).toBe("kept");
    before.state.lost("stolen");
    expect(stage.provider.kept()).toMatchObject([{ name: "a", lends: 0 }]);
  });

  it("and leaves nothing that inspect() takes for kept, once its entry was deleted", async () => {
    const stage = new KeepingStage();
    const { handle } = await stage.ask(stage.mutex("other"));
    const { keepings } = Handle.holdOf(handle as Handle).engine;
    const ids = (): string[] => [...(keepings?.idleIds() ?? [])];
    const wanted = await stage.kept(stage.mutex("a"));
    const broken = await stage.kept(stage.mutex("b"));
    expect(ids()).toEqual([wanted.backendId, broken.backendId]);
    stage.made.setState("suspended");
    broken.state.uncertain();
    wanted.state.wanted();
    // The entry of `broken` cannot be deleted without contact: it is still at the backend, without an owner.
    expect(ids()).toEqual([broken.backendId]);
    stage.made.setState("connected");
    await stage.rest();
    expect(ids()).toEqual([]);
  });

  it("by a doubt about its present owner, and the requests that wait for it in memory ask the backend at once", async () => {
    const stage = new KeepingStage();
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    void stage.mutex().acquire({ label: "waits" });
    expect(await stage.newRequests()).toHaveLength(0);
    grant.state.uncertain();
    expect(holder.state).toBe("uncertain");
    expect((await stage.newRequests()).map(({ request }) => request.label)).toEqual(["waits"]);
    expect(grant.releases).toEqual([]);
  });

  it("for its owner as any hold when the session is over, and those who stood in memory ask anew", async () => {
    const stage = new KeepingStage();
    const requeued = record(stage, "requeued");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    const { lost } = holder;
    const waiting = stage.mutex().acquire();
    await stage.rest();
    grant.state.lost("session-expired");
    expect(lost.aborted).toBe(true);
    expect(holder.state).toBe("lost");
    expect(stage.provider.kept()).toEqual([]);
    await stage.newRequests();
    expect(requeued).toMatchObject([{ reason: "session-lost" }]);
    expect(stage.requests).toBe(3);
    stage.made.last().granted.resolve(null);
    await expect(waiting).rejects.toThrow();
  });

  it("for its owner as any hold when another client deletes the entry, and those who stood in memory ask anew", async () => {
    const stage = new KeepingStage();
    const requeued = record(stage, "requeued");
    const grant = await stage.kept();
    const holder = await stage.mutex().acquire();
    const waiting = stage.mutex().acquire();
    expect(await stage.newRequests()).toHaveLength(0);
    grant.state.lost("stolen");
    expect(holder.state).toBe("lost");
    await stage.grant({ follows: false });
    expect((await waiting).turn).toBe(0);
    expect(requeued).toMatchObject([{ reason: "entry-gone" }]);
  });

  it("with close(), which does not count it, and lends nothing any more", async () => {
    const stage = new KeepingStage();
    const ended = record(stage, "keeping-ended");
    const grant = await stage.kept();
    const lent = await stage.kept(stage.mutex("b"));
    const holder = await stage.mutex("b").acquire();
    const closing = stage.provider.close({ graceMs: 100 });
    await stage.rest();
    expect(grant.releases).toHaveLength(1);
    expect(await holder.release()).toBe("released");
    expect(await closing).toEqual({ released: 0, unconfirmed: [] });
    expect(lent.releases).toHaveLength(1);
    expect(ended.map(({ name, reason }) => [name, reason])).toEqual([
      ["a", "closed"],
      ["b", "closed"],
    ]);
  });
});

describe("options of kept locks", () => {
  it("are checked, and refused where they would be ignored", async () => {
    const stage = new KeepingStage();
    for (const options of [
      { keepMs: -1 },
      { keepMs: Infinity },
      { maxKept: 0 },
      { fenceBy: "turn" },
      { keepAskMs: NaN },
    ])
      expect(() => memoryLocks(options as never)).toThrow(InvalidArgumentError);
    expect(() => memoryLocks().mutex("a", { keepMs: 10 })).toThrow(/option of the provider first/);
    expect(() => scripted(stage.runtime, "session", { keepMs: 10 })).toThrow(UnsupportedError);
    for (const options of [{ keepMs: 10 }, { fenceBy: "token" }]) {
      expect(() => stage.provider.semaphore("a", 1, options as never)).toThrow(InvalidArgumentError);
      expect(() => stage.provider.leaderElection("a", options as never)).toThrow(InvalidArgumentError);
      await expect(stage.provider.readWriteLock("a").read.acquire(options as never)).rejects.toThrow(
        InvalidArgumentError,
      );
      await expect(stage.mutex().acquire(options as never)).rejects.toThrow(InvalidArgumentError);
    }
  });

  it("default to nothing: no request is marked, and no release keeps", async () => {
    const stage = new KeepingStage({ keepMs: 0 });
    await (await stage.ask()).handle.release();
    const { handle, grant } = await stage.ask();
    expect(handle.turn).toBe(0);
    expect(await handle.release()).toBe("released");
    expect(handle.token).toBe(2n);
    expect(grant.asked).toBe(0);
    expect(stage.made.requests.map(({ request }) => request.keepable)).toEqual([false, false]);
  });
});
