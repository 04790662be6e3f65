/**
 * A process with the locks of one side. It is steered by lines as `line-process.ts` writes them, and ends with its stdin.
 *
 * When it takes and before it releases a lock, it sends the events `in` and `out`, and waits for `pass <hold>` after each. So the
 * witness has received `out` before the release is sent, and it receives the next `in` after that, in whatever order it reads
 * its pipes.
 */
import { createInterface } from "node:readline";

/** As many permits as `cases.ts` has for each semaphore. */
const limit = 2;

const sides = {
  zookeeper: { old: "./old/zookeeper-locks.mjs", present: "@holdfast/zk-recipes", make: "zookeeperLocks" },
  redis: { old: "./old/redis-locks.mjs", present: "@holdfast/redis-recipes", make: "redisLocks" },
  redlock: { old: "./old/red-locks.mjs", present: "@holdfast/multi-lock", make: "redLocks" },
};

/** How each kind is asked for. `turn` decides between the write side and the read side. */
const kinds = {
  mutex: (name) => locks.mutex(name),
  "reentrant-mutex": (name) => locks.reentrantMutex(name),
  "read-write-lock": (name, turn) => locks.readWriteLock(name)[turn % 2 === 0 ? "write" : "read"],
  "reentrant-read-write-lock": (name, turn) =>
    locks.reentrantReadWriteLock(name)[turn % 2 === 0 ? "write" : "read"],
  semaphore: (name) => locks.semaphore(name, limit),
  /** Redisson's number without leases. Where it has a kind of its own, `semaphore` is another kind. */
  "plain-semaphore": (name) => locks.plainSemaphore?.(name, limit) ?? locks.semaphore(name, limit),
  "leader-election": (name) => candidate(locks.leaderElection(name)),
  // These kinds are of ZooKeeper alone.
  "semaphore-mutex": (name) => locks.semaphoreMutex(name),
  "naive-mutex": (name) => locks.naiveMutex(name),
  "selector-election": (name) => candidate(locks.leaderElection(name, { layout: "selector" })),
  // These kinds are of Redis alone.
  "fair-mutex": (name) => locks.fairMutex(name),
  "spin-mutex": (name) => locks.spinMutex(name),
  "permit-semaphore": (name) => locks.permitSemaphore(name),
};

const commands = {
  async connect(side, backend, options) {
    const { [side]: from, make } = sides[backend];
    const module = await import(from);
    locks = module[make](JSON.parse(options));
    await locks.ready();
    return [String("plainSemaphore" in locks)];
  },

  async set(name) {
    await locks.permitSemaphore(name).trySetLimit(limit);
  },

  async contend(kind, name, turns, first) {
    for (let turn = 0; turn < Number(turns); turn++) {
      await inside(name, await kinds[kind](name, turn + Number(first)).acquire({ waitMs }));
    }
  },

  async hold(kind, name, count) {
    const handles = [];
    for (let i = 0; i < Number(count); i++) handles.push(await kinds[kind](name, 0).acquire({ waitMs }));
    held.set(name, handles);
    return handles.map(({ token }) => String(token));
  },

  /** Answers how each release ended. */
  async release(name) {
    const outcomes = [];
    for (const handle of held.get(name)) outcomes.push(await handle.release());
    held.delete(name);
    return outcomes;
  },

  /** Starts to wait, and answers at once. */
  async wait(kind, name) {
    const granted = kinds[kind](name, 0).acquire({ waitMs });
    waiting.set(name, granted);
    granted.catch(() => {});
  },

  async granted(name) {
    const handle = await waiting.get(name);
    await handle.release();
    return [String(handle.token)];
  },

  /** Takes the lock and releases it, or answers the name of the error. */
  async attempt(kind, name) {
    try {
      // A server that has not answered by then counts as an outage, so a busy one gets some time.
      const handle = await kinds[kind](name, 0).acquire({ waitMs: 2_000 });
      await handle.release();
      return ["granted"];
    } catch (error) {
      return [error.name];
    }
  },

  async waiters(kind, name) {
    const { pendingTotal } = await viewOf(kind, name).inspect();
    return [String(pendingTotal)];
  },

  async meet(name, parties) {
    const membership = await locks.doubleBarrier(name, Number(parties)).enter({ waitMs });
    await membership.leave({ waitMs });
  },

  async shut(name) {
    await locks.barrier(name).shut();
  },

  async open(name) {
    await locks.barrier(name).open();
  },

  async pass_gate(name) {
    await locks.barrier(name).wait({ waitMs });
  },

  async set_count(name, count) {
    return [String(await locks.countDownLatch(name).trySetCount(Number(count)))];
  },

  async count_down(name) {
    const latch = locks.countDownLatch(name);
    await latch.countDown();
    await latch.wait({ waitMs });
  },

  async add(name, times) {
    const number = locks.atomicLong(name);
    for (let i = 0; i < Number(times); i++) await number.add(1n);
  },

  async value(name) {
    return [String(await locks.atomicLong(name).get())];
  },

  async join(name, id) {
    joined.push(await locks.groupMembership(name).join(id));
  },

  async members(name) {
    const members = await locks.groupMembership(name).members();
    return members.map(({ id }) => id).sort();
  },

  async pass(hold) {
    passes.get(hold)?.();
  },

  async close() {
    await locks.close();
  },
};

/** Each wait is for a condition. The limit is there to name a condition that never comes. */
const waitMs = 60_000;

let locks;
let lastHold = 0;
const passes = new Map();
const held = new Map();
const waiting = new Map();
const joined = [];

/** The lock to inspect; of a lock with two sides, the whole. */
function viewOf(kind, name) {
  if (kind === "read-write-lock") return locks.readWriteLock(name);
  if (kind === "reentrant-read-write-lock") return locks.reentrantReadWriteLock(name);
  return kinds[kind](name, 0);
}

function candidate(election) {
  return {
    acquire: (options) => election.campaign(options),
    inspect: async () => ({ pendingTotal: (await election.participants()).length - 1 }),
  };
}

async function inside(name, handle) {
  const hold = String(++lastHold);
  const { mode = "shared", token } = handle;
  await told("in", hold, name, mode, String(token));
  handle.assertHeld();
  await told("out", hold, name, mode, String(token));
  const outcome = await handle.release();
  // A provider that keeps locks keeps a released lock as long as no other worker asks for it.
  if (outcome !== "released" && outcome !== "kept")
    throw new Error(`the release of ${name} answered ${outcome}`);
}

function told(event, hold, ...values) {
  return new Promise((resolve) => {
    passes.set(hold, () => {
      passes.delete(hold);
      resolve();
    });
    print(["!", event, hold, ...values]);
  });
}

function print(words) {
  process.stdout.write(`${words.map(encodeURIComponent).join(" ")}\n`);
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [id, command, ...args] = line.split(" ").map(decodeURIComponent);
  commands[command](...args).then(
    (values = []) => print([id, "ok", ...values]),
    (error) => print([id, "error", error.name, error.message]),
  );
});
lines.on("close", () => process.exit(0));
print(["!", "started"]);
