import type { ReadWriteLock, WriteHandle } from "@holdfast/core";
import type { Held, Lockable } from "../recipes.js";
import type { Stage } from "../support/stage.js";
import { givenUp, type Operation } from "./operation.js";

function rw(stage: Stage, label: string): ReadWriteLock {
  return stage.client(label).locks.readWriteLock(stage.path);
}

function take(stage: Stage, side: Lockable): Promise<Held | null> {
  return stage.allow(() => side.acquire());
}

async function takeAndRelease(stage: Stage, label: string, side: Lockable): Promise<void> {
  await stage.release(label, await take(stage, side));
}

/** The write that `before` took, for `act`. */
const writes = new WeakMap<Stage, WriteHandle | null>();

async function holdsWrite(stage: Stage): Promise<void> {
  writes.set(stage, await stage.allow(() => rw(stage, "A").write.acquire()));
}

/** Turns the write into a read and returns the read. Releases the write if a fault has left it held. */
async function downgrade(stage: Stage): Promise<Held | null> {
  const write = writes.get(stage) ?? null;
  if (write === null) return null;
  stage.world.witness.downgrades("A", write);
  const read = await stage.allow(() => write.downgrade(), ["LockLostError", "NotHeldError"]);
  if (read === null || write.state === "held" || write.state === "uncertain") await stage.release("A", write);
  else stage.world.witness.givesBack("A", write);
  return read;
}

export const readWriteOperations: readonly Operation[] = [
  {
    name: "a read and its release",
    clients: ["A"],
    act: (stage) => takeAndRelease(stage, "A", rw(stage, "A").read),
  },
  {
    name: "readers, then a writer, then a reader behind it",
    clients: ["A", "B", "C", "D"],
    async act(stage) {
      const first = await take(stage, rw(stage, "A").read);
      const second = await take(stage, rw(stage, "B").read);
      const writing = takeAndRelease(stage, "C", rw(stage, "C").write);
      await stage.whenQueued(3);
      const reading = takeAndRelease(stage, "D", rw(stage, "D").read);
      await stage.whenQueued(4);
      await stage.release("A", first);
      await stage.release("B", second);
      await Promise.all([writing, reading]);
    },
  },
  {
    name: "a writer that gives way to readers of two clients and a writer behind them",
    clients: ["A", "B", "C"],
    before: holdsWrite,
    async act(stage) {
      const reading = [takeAndRelease(stage, "B", rw(stage, "B").read)];
      await stage.whenQueued(2);
      reading.push(takeAndRelease(stage, "C", rw(stage, "C").read));
      await stage.whenQueued(3);
      const writing = takeAndRelease(stage, "B", rw(stage, "B").write);
      await stage.whenQueued(4);
      await stage.release("A", writes.get(stage) ?? null);
      await Promise.all([...reading, writing]);
    },
  },
  {
    name: "a queued writer that gives up between readers",
    clients: ["A", "B", "C"],
    async act(stage) {
      const first = await take(stage, rw(stage, "A").read);
      const writing = stage.allow(() => rw(stage, "B").write.acquire({ waitMs: 60 }), givenUp);
      await stage.whenQueued(2);
      const reading = takeAndRelease(stage, "C", rw(stage, "C").read);
      await stage.release("B", await writing);
      await reading;
      await stage.release("A", first);
    },
  },
  {
    name: "a downgrade with a writer and a reader in the queue",
    clients: ["A", "B", "C"],
    before: holdsWrite,
    async act(stage) {
      const writing = takeAndRelease(stage, "B", rw(stage, "B").write);
      await stage.whenQueued(2);
      const reading = takeAndRelease(stage, "C", rw(stage, "C").read);
      await stage.whenQueued(3);
      const read = await downgrade(stage);
      await stage.world.sleep(20);
      await stage.release("A", read);
      await Promise.all([writing, reading]);
    },
  },
  {
    name: "a read in a write of one owner, and the write given back first",
    clients: ["A", "B"],
    async act(stage) {
      const lock = stage.client("A").locks.reentrantReadWriteLock(stage.path);
      const owner = { id: "the same" };
      const write = await stage.allow(() => lock.write.acquire({ owner }));
      const writing = takeAndRelease(
        stage,
        "B",
        stage.client("B").locks.reentrantReadWriteLock(stage.path).write,
      );
      await stage.whenQueued(2);
      // An owner that has lost its write asks for a read like any other client, behind the writer that waits.
      // If the server stands still for longer than the call's limit, the call gets no answer, which is an outage.
      const lost = ["LockLostError", "AcquireTimeoutError", "BackendError"];
      const read = await stage.allow(() => lock.read.acquire({ owner, waitMs: 3_000 }), lost);
      await stage.release("A", write);
      await stage.world.sleep(20);
      await stage.release("A", read);
      await writing;
    },
  },
];
