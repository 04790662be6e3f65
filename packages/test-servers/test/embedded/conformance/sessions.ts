import { setTimeout as sleep } from "node:timers/promises";
import { encodeConnectRequest, encodeFrame, errorCodes } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { childrenOf, create, createOf, ephemeral, ok, statOf } from "../support/requests.js";
import { connectFrame, requestFrame, type Wire } from "../support/wire.js";
import type { Item, Trial } from "./trial.js";

const refused = `00000025${"00000000".repeat(2)}${"00".repeat(8)}00000010${"00".repeat(16)}00`;

async function isRefused(wire: Wire): Promise<void> {
  await wire.closed();
  expect(wire.frames.map((frame) => `00000025${frame.toString("hex")}`)).toEqual([refused]);
}

/** Makes an ephemeral node in a session of 1,000 ms, which `leave` makes fall silent. Measures how long the node stays. */
async function lastsMs(
  trial: Trial,
  leave: (wire: Wire) => void,
): Promise<{ goneMs: number; closedMs: number }> {
  const watcher = await trial.open();
  const home = await trial.home(watcher);
  const dying = await trial.open({ timeoutMs: 1_000 });
  await create(dying, `${home}/e`, ephemeral);
  await ok(watcher.ask("exists", { path: `${home}/e`, watch: true }));
  // The time counts from before the last sign of life, because the server counts from when it receives that sign.
  const startedMs = performance.now();
  await dying.ask("ping", undefined);
  let closedMs = 0;
  dying.socket.on("close", () => {
    closedMs = performance.now() - startedMs;
  });
  dying.socket.on("end", () => {
    closedMs = performance.now() - startedMs;
  });
  leave(dying);
  expect((await watcher.event(0)).type).toBe("deleted");
  const goneMs = performance.now() - startedMs;
  await dying.closed();
  return { goneMs, closedMs };
}

export const sessions: readonly Item[] = [
  {
    number: 1,
    title: "a connect request of 45 bytes is answered with 37 bytes that end in 0",
    async run(trial) {
      const wire = await trial.open();
      expect(wire.frames[0]?.length).toBe(37);
      expect(wire.frames[0]?.at(-1)).toBe(0);
    },
  },
  {
    number: 2,
    title: "a connect request of 44 bytes is answered with 36",
    async run(trial) {
      const socket = trial.raw();
      const password = new Uint8Array(16);
      const request = { protocolVersion: 0, lastZxidSeen: 0n, timeoutMs: 5_000, sessionId: 0n, password };
      socket.write(encodeFrame(encodeConnectRequest(request)), requestFrame(1, "closeSession", undefined));
      expect((await socket.frame(0)).length).toBe(36);
      await socket.closed();
    },
  },
  {
    number: 3,
    title: "time-outs are kept between 2 and 20 ticks",
    async run(trial) {
      const granted: number[] = [];
      for (const timeoutMs of [0, 999, -5, 5_000, 99_999]) {
        granted.push((await trial.open({ timeoutMs })).session.timeoutMs);
      }
      expect(granted).toEqual([1_000, 1_000, 1_000, 5_000, 10_000]);
    },
  },
  {
    number: 4,
    title: "any protocol version is taken and answered with 0",
    async run(trial) {
      const wire = await trial.open({ protocolVersion: 7 });
      expect(wire.session.protocolVersion).toBe(0);
      expect(wire.session.timeoutMs).toBe(5_000);
    },
  },
  {
    number: 5,
    title: "a new session needs no password and gets one of 16 bytes",
    async run(trial) {
      for (const password of [null, new Uint8Array(3)]) {
        const { session } = await trial.open({ password });
        expect(session.password.length).toBe(16);
        expect(session.sessionId).not.toBe(0n);
      }
    },
  },
  {
    number: 6,
    title: "a session goes on with its id, password and ephemerals, and with a time-out negotiated anew",
    async run(trial) {
      const first = await trial.open({ timeoutMs: 4_000 });
      const home = await trial.home(first);
      await create(first, `${home}/e`, ephemeral);
      const second = await trial.open({ timeoutMs: 7_000, ...first.credentials });
      expect(second.session).toMatchObject({ sessionId: first.session.sessionId, timeoutMs: 7_000 });
      expect(Buffer.from(second.session.password)).toEqual(Buffer.from(first.session.password));
      expect((await statOf(second, `${home}/e`))?.ephemeralOwner).toBe(first.session.sessionId);
    },
  },
  {
    number: 7,
    title: "the earlier connection of a session is closed, and its watches don't fire on the new one",
    async run(trial) {
      const first = await trial.open();
      const home = await trial.home(first);
      await ok(first.ask("getChildren", { path: home, watch: true }));
      const second = await trial.open(first.credentials);
      await first.closed();
      await create(second, `${home}/a`);
      await second.ask("sync", { path: "/" });
      expect(first.events).toEqual([]);
      expect(second.events).toEqual([]);
    },
  },
  {
    number: 8,
    title: "a wrong password gets no session but closes the owner's connection, and the owner comes back",
    async run(trial) {
      const owner = await trial.open();
      const password = new Uint8Array(16).fill(9);
      await isRefused(trial.start({ sessionId: owner.session.sessionId, password }));
      await owner.closed();
      expect((await trial.open(owner.credentials)).session.timeoutMs).toBe(5_000);
    },
  },
  {
    number: 9,
    title: "an unknown and a closed session are refused without side effects",
    async run(trial) {
      const bystander = await trial.open();
      const over = await trial.open();
      await over.ask("closeSession", undefined);
      await over.closed();
      await isRefused(trial.start(over.credentials));
      await isRefused(trial.start({ sessionId: 12_345n, password: new Uint8Array(16) }));
      expect((await bystander.ask("ping", undefined)).err).toBe(0);
    },
  },
  {
    number: 10,
    title: "a client that has seen a later zxid gets no byte",
    async run(trial) {
      const socket = trial.raw();
      socket.write(connectFrame({ lastZxidSeen: 0x7_0000_0000_0000n }));
      await socket.closed();
      expect(socket.bytes).toBe(0);
    },
  },
  {
    number: 11,
    title: "a request before the handshake gets no byte",
    async run(trial) {
      const socket = trial.raw();
      socket.write(requestFrame(1, "create", createOf(trial.path)));
      await socket.closed();
      expect(socket.bytes).toBe(0);
    },
  },
  {
    number: 12,
    title: "handshake and requests in one segment are answered in order",
    async run(trial) {
      const wire = trial.start(
        {},
        requestFrame(1, "create", createOf(trial.path)),
        requestFrame(2, "getChildren", { path: "/", watch: false }),
      );
      const replies = [wire.expect("create"), wire.expect("getChildren")] as const;
      expect((await ok(replies[0])).path).toBe(trial.path);
      expect((await ok(replies[1])).children).toContain(trial.path.slice(1));
      expect(wire.frames.length).toBe(3);
    },
  },
  {
    number: 13,
    title: "a request behind the handshake of an invalid session is not applied",
    async run(trial) {
      const wire = trial.start(
        { sessionId: 12_345n, password: new Uint8Array(16) },
        requestFrame(1, "create", createOf(trial.path)),
      );
      await isRefused(wire);
      expect(await statOf(await trial.open(), trial.path)).toBeNull();
    },
  },
  {
    number: 14,
    title: "a silent session of 1,000 ms is over within a tick after that, socket and ephemerals together",
    async run(trial) {
      const { goneMs, closedMs } = await lastsMs(trial, () => {});
      expect(goneMs).toBeGreaterThan(999);
      // It is 1,750 ms if nothing else runs on the machine.
      expect(goneMs).toBeLessThan(10_000);
      expect(Math.abs(closedMs - goneMs)).toBeLessThan(1_500);
    },
  },
  {
    number: 15,
    title: "any request keeps a session alive",
    async run(trial) {
      const home = await trial.home(await trial.open());
      let name = 0;
      /** Sends a request every quarter of a time-out, for more than one time-out. `false`: the machine was too slow for that. */
      const staysBusy = async (): Promise<boolean> => {
        const wire = await trial.open({ timeoutMs: 1_000 });
        const path = `${home}/e${++name}`;
        await create(wire, path, ephemeral);
        const startedMs = performance.now();
        for (let askedMs = startedMs; askedMs - startedMs < 2_000; ) {
          await sleep(250);
          const stat = await statOf(wire, path).catch(() => null);
          if (performance.now() - askedMs >= 950) return false;
          expect(stat).not.toBeNull();
          askedMs = performance.now();
        }
        expect(wire.ended).toBe(false);
        return true;
      };
      while (!(await staysBusy()));
    },
  },
  {
    number: 16,
    title: "a dropped connection leaves the ephemeral until the session runs out",
    async run(trial) {
      const { goneMs } = await lastsMs(trial, (wire) => wire.socket.resetAndDestroy());
      expect(goneMs).toBeGreaterThan(999);
      expect(goneMs).toBeLessThan(10_000);
    },
  },
  {
    number: 17,
    title: "closeSession is answered, then the connection closes, and all ephemerals went under one zxid",
    async run(trial) {
      const wire = await trial.open();
      const other = await trial.open();
      const home = await trial.home(other);
      for (const name of ["a", "b", "c"]) await create(wire, `${home}/${name}`, ephemeral);
      const { zxid: before } = await wire.ask("ping", undefined);
      const closing = await wire.ask("closeSession", undefined);
      await wire.closed();
      expect(closing).toMatchObject({ err: 0, zxid: before + 1n });
      expect(await childrenOf(other, home)).toEqual([]);
      expect((await statOf(other, home))?.pzxid).toBe(before + 1n);
    },
  },
  {
    number: 18,
    title: "a request behind closeSession is not applied, and at most answered that the session is over",
    async run(trial) {
      const wire = await trial.open();
      const [closing, late] = wire.askAll(["closeSession", undefined], ["create", createOf(trial.path)]);
      expect((await closing)?.err).toBe(0);
      // ZooKeeper itself does either. It answers about once in ten times.
      const answer = await late?.then(({ err }) => err).catch((error: Error) => error.message);
      expect(["the server closed the connection", errorCodes.SessionExpired]).toContain(answer);
      expect(await statOf(await trial.open(), trial.path)).toBeNull();
    },
  },
  {
    number: 19,
    title: "a create with FIN behind it is applied, rarely answered, and its session lives until it runs out",
    async run(trial) {
      const other = await trial.open();
      const home = await trial.home(other);
      const wire = await trial.open({ timeoutMs: 1_000 });
      await ok(other.ask("getChildren", { path: home, watch: true }));
      const answer = wire.expect("create");
      wire.socket.end(requestFrame(1, "create", createOf(`${home}/e`, ephemeral)));
      expect((await other.event(0)).type).toBe("children-changed");
      await wire.closed();
      // ZooKeeper itself answers if it has finished the create before it reads the FIN, as may happen on a busy machine.
      const told = await answer.then(({ err }) => err).catch((error: Error) => error.message);
      expect(["the server closed the connection", 0]).toContain(told);
      await ok(other.ask("exists", { path: `${home}/e`, watch: true }));
      expect((await other.event(1)).type).toBe("deleted");
    },
  },
  {
    number: 20,
    title: "a ping is answered with the xid of pings and the last zxid",
    async run(trial) {
      const wire = await trial.open();
      const { zxid } = await wire.ask("create", createOf(trial.path));
      for (const xid of [-2, 17])
        expect(await wire.ask("ping", undefined, xid)).toMatchObject({ xid: -2, err: 0, zxid });
    },
  },
];
