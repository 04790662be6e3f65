import {
  BackendError,
  InvalidArgumentError,
  LockLostError,
  memoryLocks,
  NotHeldError,
  UnsupportedError,
} from "@holdfast/core";
import { eventually, expireSession, startZooKeeperProxy } from "@holdfast/test-servers";
import { Perms } from "@holdfast/zk-protocol";
import type { GuardedOp, ZooKeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { type Server, servers } from "../rendezvous/servers.js";

const bytes = (text: string): Uint8Array => Buffer.from(text);
let paths = 0;

for (const { kind, start } of servers) {
  describe(`a guarded write on ${kind} ZooKeeper`, () => {
    let server: Server;
    beforeAll(async () => {
      server = await start();
    }, 300_000);
    afterAll(() => server?.stop());

    /** A client behind a link of its own, and a node to write. */
    async function stage(keepMs = 0) {
      const link = await startZooKeeperProxy({ target: server.connectString });
      onTestFinished(() => link.close());
      const locks: ZooKeeperLocks = await connected(link.connectString, { keepMs });
      const operator = await Operator.connect(server.connectString);
      const path = `/guarded${paths++}`;
      await operator.create(path, { data: "before" });
      const lock = await locks.mutex(`${path}/lock`).acquire();
      const write = (data = "after") => locks.guarded(lock, [{ op: "set", path, data: bytes(data) }]);
      const data = async () => (await operator.read(path)).data;
      return { link, locks, operator, path, lock, write, data };
    }

    it("does all steps at once while the lock is held, and leaves it held", async () => {
      const { locks, operator, path, lock } = await stage();
      await operator.create(`${path}/old`);
      await locks.guarded(lock, [
        { op: "check", path, version: 0 },
        { op: "set", path, data: bytes("after"), version: 0 },
        { op: "create", path: `${path}/new`, data: bytes("born") },
        { op: "delete", path: `${path}/old` },
      ]);
      expect((await operator.read(path)).data).toBe("after");
      expect((await operator.read(`${path}/new`)).data).toBe("born");
      expect(await operator.exists(`${path}/old`)).toBe(false);
      expect(lock.state).toBe("held");
    });

    it("is refused, and the lock is held on, where the connection may not read the lock's node", async () => {
      const operator = await Operator.connect(server.connectString);
      const path = `/guarded${paths++}`;
      await operator.create(path, { data: "before" });
      await operator.create(`${path}/lock`);
      const acl = [{ perms: Perms.ALL & ~Perms.READ, scheme: "world", id: "anyone" }];
      const locks: ZooKeeperLocks = await connected(server.connectString, { acl });
      const lock = await locks.mutex(`${path}/lock`).acquire();
      const refused = locks.guarded(lock, [{ op: "set", path, data: bytes("after") }]);
      await expect(refused).rejects.toThrow(BackendError);
      await expect(refused).rejects.toThrow(/NoAuth/);
      expect([lock.state, (await operator.read(path)).data]).toEqual(["held", "before"]);
      expect(await lock.release()).toBe("released");
      expect(await operator.children(`${path}/lock`)).toEqual([]);
    });

    it("is one request", async () => {
      const { link, lock, write } = await stage();
      // The read of `lost` sets the watch on the lock's node at once. It could otherwise be set during the write, and count.
      expect(lock.lost.aborted).toBe(false);
      await link.waitFor(({ kind, op }) => kind === "reply" && op === "getData");
      const before = link.counts().requests;
      await write();
      expect(link.counts().requests - before).toBe(1);
    });

    it("writes nothing once another client has deleted the lock's node, and tells the loss", async () => {
      const { operator, path, lock, write, data } = await stage();
      await operator.delete(await operator.onlyChild(`${path}/lock`));
      await expect(write()).rejects.toBeInstanceOf(LockLostError);
      expect(await data()).toBe("before");
      expect(lock.state).toBe("lost");
    });

    it("writes nothing when the session has ended without this client's knowledge", async () => {
      const { link, lock, write, data } = await stage();
      const session = link.sessions.at(-1);
      if (session === undefined) throw new Error("no session");
      await link.setMode("stall");
      await expireSession({ connectString: server.connectString, ...session });
      expect(lock.state).not.toBe("lost");
      const late = write();
      await link.setMode("ok");
      // The session is over, so the server closes the connection without an answer: the client cannot know whether it wrote.
      await expect(late).rejects.toThrow(/may or may not/);
      expect(await data()).toBe("before");
      await eventually(() => lock.state === "lost", { what: "the news of the loss", withinMs: 10_000 });
      await expect(write()).rejects.toBeInstanceOf(LockLostError);
    });

    it("writes nothing when the server refuses one of the steps, which the error names, and the lock stays held", async () => {
      const { locks, path, lock, data } = await stage();
      const refused = locks.guarded(lock, [
        { op: "set", path, data: bytes("after") },
        { op: "check", path: `${path}/nowhere` },
      ]);
      await expect(refused).rejects.toBeInstanceOf(BackendError);
      await expect(refused).rejects.toMatchObject({ cause: { codeName: "NoNode", path: `${path}/nowhere` } });
      expect(await data()).toBe("before");
      expect(lock.state).toBe("held");
    });

    it("says that its outcome is unknown when the answer was lost, and is not sent twice", async () => {
      const { link, operator, path, write } = await stage();
      link.faults.on({ op: "multi" }, { do: "close", when: "applied" });
      const lost = write();
      await expect(lost).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
      await expect(lost).rejects.toThrow(/may or may not/);
      expect((await operator.read(path)).stat.version).toBe(1);
    });

    it("waits for contact that is broken when it is asked for", async () => {
      const { link, write, data } = await stage();
      await link.setMode("refuse");
      const waiting = write();
      await link.setMode("ok");
      await waiting;
      expect(await data()).toBe("after");
    });

    it("of a kept lock belongs to its owner: the release behind it gives the lock back", async () => {
      const { locks, path, lock, write, operator } = await stage(5_000);
      await lock.release();
      const again = await locks.mutex(`${path}/lock`).acquire();
      await locks.guarded(again, [{ op: "set", path, data: bytes("after") }]);
      expect(await again.release()).toBe("released");
      await expect(write("late")).rejects.toBeInstanceOf(NotHeldError);
      await eventually(async () => (await operator.children(`${path}/lock`)).length === 0, {
        what: "no node",
      });
    });

    it("refuses handles and steps that are none, and a lock whose next holder has the same node", async () => {
      const { locks, path, lock } = await stage();
      const foreign = await memoryLocks().mutex("a").acquire();
      const op: GuardedOp = { op: "check", path };
      await expect(locks.guarded(foreign, [op])).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(
        locks.guarded(await locks.naiveMutex(`${path}/naive`).acquire(), [op]),
      ).rejects.toBeInstanceOf(UnsupportedError);
      const wrong: readonly unknown[] = [
        [],
        "set",
        [{ op: "write", path }],
        [{ op: "set", path, data: "text" }],
        [{ op: "check", path, version: 1.5 }],
        [{ op: "check", path: "/a//b" }],
        [null],
      ];
      for (const ops of wrong)
        await expect(locks.guarded(lock, ops as never), JSON.stringify(ops)).rejects.toBeInstanceOf(
          InvalidArgumentError,
        );
    });
  });
}
