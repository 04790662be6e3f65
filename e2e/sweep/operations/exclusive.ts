import type { Held } from "../recipes.js";
import type { Stage } from "../support/stage.js";
import { givenUp, type Operation } from "./operation.js";

/** The holds that `before` took for `act`. */
const held = new WeakMap<Stage, Record<string, Held | null>>();

async function holds(stage: Stage, label: string, options = {}): Promise<void> {
  const handle = await stage.acquire(label, options);
  held.set(stage, { ...held.get(stage), [label]: handle });
}

function holdOf(stage: Stage, label: string): Held | null {
  return held.get(stage)?.[label] ?? null;
}

async function parents(stage: Stage): Promise<void> {
  await stage.release("A", await stage.acquire("A"));
}

async function acquireAndRelease(stage: Stage, label: string): Promise<void> {
  await stage.release(label, await stage.acquire(label));
}

/** The acquire of `B` is aborted when it is notified, while the grant is on its way through the client. */
async function calledOffAtTheGrant(stage: Stage, callOff: (abort: () => void) => void): Promise<void> {
  const { locks } = stage.client("B");
  const patience = new AbortController();
  locks.events.on("notified", () => callOff(() => patience.abort()));
  const called = stage.allow(() => stage.lock("B").acquire({ signal: patience.signal }), ["AbortError"]);
  await stage.whenQueued(2);
  const last = acquireAndRelease(stage, "C");
  await stage.whenQueued(3);
  await stage.release("A", holdOf(stage, "A"));
  await stage.release("B", await called);
  await last;
}

/** What an exclusive lock does on the wire, one thing in each operation. */
export const exclusiveOperations: readonly Operation[] = [
  {
    name: "a free acquire and its release",
    clients: ["A"],
    before: parents,
    act: (stage) => acquireAndRelease(stage, "A"),
  },
  {
    name: "an acquire under missing parents",
    clients: ["A"],
    act: (stage) => acquireAndRelease(stage, "A"),
  },
  {
    name: "a hand-off to a waiter",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const waiting = acquireAndRelease(stage, "B");
      await stage.whenQueued(2);
      await stage.release("A", holdOf(stage, "A"));
      await waiting;
    },
  },
  {
    name: "a queue of three that drains",
    clients: ["A", "B", "C"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const second = acquireAndRelease(stage, "B");
      await stage.whenQueued(2);
      const third = acquireAndRelease(stage, "C");
      await stage.whenQueued(3);
      await stage.release("A", holdOf(stage, "A"));
      await Promise.all([second, third]);
    },
  },
  {
    name: "a waiter whose predecessor gives up while the holder holds on",
    clients: ["A", "B", "C"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const patience = new AbortController();
      const leaving = stage.allow(() => stage.lock("B").acquire({ signal: patience.signal }), ["AbortError"]);
      await stage.whenQueued(2);
      const last = acquireAndRelease(stage, "C");
      await stage.whenQueued(3);
      patience.abort();
      const taken = await leaving;
      if (taken !== null) await stage.release("B", taken);
      await stage.world.sleep(50);
      await stage.release("A", holdOf(stage, "A"));
      await last;
    },
  },
  {
    name: "a hand-off within one session",
    clients: ["A"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const waiting = acquireAndRelease(stage, "A");
      await stage.whenQueued(2);
      await stage.release("A", holdOf(stage, "A"));
      await waiting;
    },
  },
  {
    name: "a holder and a waiter of one session that stay",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const own = acquireAndRelease(stage, "A");
      await stage.whenQueued(2);
      const other = acquireAndRelease(stage, "B");
      await stage.whenQueued(3);
      await stage.world.sleep(2_500);
      await stage.release("A", holdOf(stage, "A"));
      await Promise.all([own, other]);
    },
  },
  {
    name: "tryAcquire on a held lock",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const mutex = stage.lock("B");
      await stage.release("B", await stage.allow(() => mutex.tryAcquire(), givenUp));
      await stage.release("A", holdOf(stage, "A"));
    },
  },
  {
    name: "a wait that times out",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const mutex = stage.lock("B");
      await stage.release("B", await stage.allow(() => mutex.acquire({ waitMs: 60 }), givenUp));
      await stage.release("A", holdOf(stage, "A"));
    },
  },
  {
    name: "a wait that times out in the moment of the hand-off",
    clients: ["A", "B", "C"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const mutex = stage.lock("B");
      const racing = stage.allow(() => mutex.acquire({ waitMs: 60 }), givenUp);
      await stage.whenQueued(2);
      const last = acquireAndRelease(stage, "C");
      await stage.world.sleep(60);
      const releasing = stage.release("A", holdOf(stage, "A"));
      await stage.release("B", await racing);
      await Promise.all([releasing, last]);
    },
  },
  {
    name: "an acquire that is called off at once",
    clients: ["A"],
    before: parents,
    async act(stage) {
      const mutex = stage.lock("A");
      const patience = new AbortController();
      const called = stage.allow(() => mutex.acquire({ signal: patience.signal }), ["AbortError"]);
      patience.abort();
      await stage.release("A", await called);
      await acquireAndRelease(stage, "A");
    },
  },
  {
    name: "a waiter that is called off as it is woken up",
    clients: ["A", "B", "C"],
    before: (stage) => holds(stage, "A"),
    act: (stage) => calledOffAtTheGrant(stage, (abort) => abort()),
  },
  {
    name: "a waiter that is called off between its grant and the hand-over",
    clients: ["A", "B", "C"],
    before: (stage) => holds(stage, "A"),
    act: (stage) => calledOffAtTheGrant(stage, (abort) => queueMicrotask(abort)),
  },
  {
    name: "a reconnect of a holder and a waiter",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const waiting = acquireAndRelease(stage, "B");
      await stage.whenQueued(2);
      for (const { session } of stage.clients) stage.world.server.dropConnection(session);
      await stage.world.sleep(200);
      await stage.release("A", holdOf(stage, "A"));
      await waiting;
    },
  },
  {
    name: "a release while the waiter is away",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const waiting = acquireAndRelease(stage, "B");
      await stage.whenQueued(2);
      stage.world.server.dropConnection(stage.client("B").session);
      await stage.release("A", holdOf(stage, "A"));
      await waiting;
    },
  },
  {
    name: "a hold that lasts, is watched and confirmed",
    clients: ["A", "B"],
    before: parents,
    async act(stage) {
      const handle = await stage.acquire("A");
      if (handle === null) return;
      const waiting = acquireAndRelease(stage, "B");
      await stage.world.sleep(300);
      await stage.allow(() => handle.confirm(), ["LockLostError", "BackendError", "NotHeldError"]);
      await stage.world.sleep(1_500);
      await stage.release("A", handle);
      await waiting;
    },
  },
  {
    name: "a provider that closes with a hold and a waiter",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A"),
    async act(stage) {
      const own = stage.allow(() => stage.lock("A").acquire(), ["ProviderClosedError"]);
      await stage.whenQueued(2);
      const waiting = acquireAndRelease(stage, "B");
      await stage.whenQueued(3);
      await stage.client("A").locks.close();
      const granted = await own;
      if (granted !== null) await stage.release("A", granted);
      await waiting;
    },
  },
];

/** The operations that only the mutex has. */
export const mutexOperations: readonly Operation[] = [
  {
    name: "a revocation that is heeded",
    clients: ["A", "B"],
    before: (stage) => holds(stage, "A", { revocable: true }),
    async act(stage) {
      const handle = holdOf(stage, "A") as Held;
      const asked = new Promise((resolve) => handle.revokeRequested?.addEventListener("abort", resolve));
      const waiting = acquireAndRelease(stage, "B");
      await stage.whenQueued(2);
      await stage.allow(() => stage.client("B").locks.mutex(stage.path).requestRevoke(), givenUp);
      // A fault may have swallowed the revoke request. That is allowed, because such a request promises nothing.
      await Promise.race([asked, stage.world.sleep(3_000)]);
      await stage.release("A", handle);
      await waiting;
    },
  },
  {
    name: "a re-entrant mutex entered three times",
    clients: ["A", "B"],
    async act(stage) {
      const mutex = stage.client("A").locks.reentrantMutex(stage.path);
      const other = (async () => {
        await stage.whenQueued(1);
        const theirs = stage.client("B").locks.reentrantMutex(stage.path);
        await stage.allow(() =>
          theirs.withLock({ onLoss: "ignore" }, (lock) => stage.world.witness.givesBack("B", lock)),
        );
      })();
      await stage.allow(
        () =>
          mutex.withLock({ onLoss: "ignore" }, async (lock) => {
            await stage.whenQueued(2);
            await mutex.withLock(() => mutex.withLock(() => stage.world.sleep(10)));
            stage.world.witness.givesBack("A", lock);
          }),
        ["LockLostError"],
      );
      await other;
    },
  },
];
