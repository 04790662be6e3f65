import { encodeFrame, encodeRequest, encodeRequestHeader, opCodes } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { create, createOf, ok, statOf } from "../support/requests.js";
import { requestFrame } from "../support/wire.js";
import type { Item } from "./trial.js";

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(length);
  return bytes;
}

export const framing: readonly Item[] = [
  {
    number: 21,
    title: "a frame of 1,048,575 bytes is taken; one more, or a negative length, closes the connection",
    async run(trial) {
      const wire = await trial.open();
      const frame = requestFrame(1, "exists", { path: "/", watch: false });
      const reply = wire.expect("exists");
      wire.write(lengthOf(0xfffff), frame.subarray(4), Buffer.alloc(0xfffff - (frame.length - 4)));
      expect((await reply).err).toBe(0);
      for (const length of [0x100000, -1, -2_147_483_648]) {
        const victim = await trial.open();
        victim.write(lengthOf(length), Buffer.alloc(64));
        await victim.closed();
        expect(victim.frames.length).toBe(1);
        // The session goes on, and is closed with the item. Its late end would take a zxid during another item.
        await trial.open(victim.credentials);
      }
      expect((await wire.ask("ping", undefined)).err).toBe(0);
    },
  },
  {
    number: 22,
    title: "a frame without a whole header closes the connection",
    async run(trial) {
      for (const length of [0, 4]) {
        const wire = await trial.open();
        wire.write(encodeFrame(Buffer.alloc(length)));
        await wire.closed();
        expect(wire.frames.length).toBe(1);
        await trial.open(wire.credentials);
      }
    },
  },
  {
    number: 23,
    title: "a truncated request is answered with a marshalling error, and a write takes a zxid all the same",
    async run(trial) {
      const wire = await trial.open();
      const { zxid: before } = await wire.ask("ping", undefined);
      for (const [op, zxid] of [
        ["create", before + 1n],
        ["getData", before + 1n],
      ] as const) {
        const reply = wire.expect(op);
        wire.write(
          encodeFrame(encodeRequestHeader({ xid: 5, type: opCodes[op] }), Buffer.from([0, 0, 0, 9, 47])),
        );
        expect(await reply).toMatchObject({ xid: 5, err: -5, zxid });
      }
      expect((await wire.ask("ping", undefined)).err).toBe(0);
    },
  },
  {
    number: 24,
    title: "bytes behind a record are ignored",
    async run(trial) {
      const wire = await trial.open();
      const reply = wire.expect("create");
      const header = encodeRequestHeader({ xid: 1, type: opCodes.create });
      wire.write(
        encodeFrame(header, encodeRequest("create", createOf(trial.path)), Buffer.from([1, 2, 3, 4])),
      );
      expect((await ok(reply)).path).toBe(trial.path);
    },
  },
  {
    number: 25,
    title: "an operation that does not exist is refused, and the connection is closed, not the session",
    async run(trial) {
      const wire = await trial.open();
      const reply = wire.expect("ping");
      wire.write(encodeFrame(encodeRequestHeader({ xid: 44, type: 77 })));
      expect(await reply).toMatchObject({ xid: 44, err: -6, zxid: -1n });
      await wire.closed();
      expect((await trial.open(wire.credentials)).session.timeoutMs).toBe(5_000);
    },
  },
  {
    number: 26,
    title: "any xid is sent back, also twice",
    async run(trial) {
      const wire = await trial.open();
      await create(wire, trial.path);
      for (const xid of [0, -77, 5, 5]) {
        expect((await wire.ask("exists", { path: trial.path, watch: false }, xid)).xid).toBe(xid);
      }
      expect(await statOf(wire, trial.path)).not.toBeNull();
    },
  },
];
