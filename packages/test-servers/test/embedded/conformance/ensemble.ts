import type { OpName, RequestOf } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { childrenOf, create, createOf, ephemeral, errOf, ok, statOf } from "../support/requests.js";
import type { Address, Wire } from "../support/wire.js";
import { type Item, maxSessionTimeoutMs, type Trial } from "./trial.js";

const lasting = { timeoutMs: maxSessionTimeoutMs };

/** A session that has moved to the second member. Its earlier connection to the first member does not know of the move. */
async function moved(
  trial: Trial,
  members: readonly [Address, Address],
): Promise<{ earlier: Wire; later: Wire }> {
  const earlier = await trial.open(lasting, members[0]);
  trial.target.ensemble.moves(earlier.session.sessionId);
  const later = await trial.open({ ...earlier.credentials, ...lasting }, members[1]);
  expect(later.session.sessionId).toBe(earlier.session.sessionId);
  return { earlier, later };
}

function writesAt(path: string): readonly (readonly [OpName, RequestOf<OpName>])[] {
  const unwanted = createOf(`${path}/unwanted`);
  return [
    ["create", unwanted],
    ["multi", { ops: [{ op: "create", request: unwanted }] }],
    ["setData", { path, data: Buffer.from("unwanted"), version: -1 }],
    ["delete", { path: `${path}/there`, version: -1 }],
  ];
}

export const ensemble: readonly Item[] = [
  {
    number: 72,
    title:
      "a session that moved reads at its old connection until it writes there, which has no effect; sync ends staleness",
    async run(trial) {
      const { lags } = trial.target.ensemble;
      const members = await trial.target.ensemble.members();
      const reader = await trial.open(lasting, members[0]);
      const writer = await trial.open(lasting, members[1]);
      const home = await trial.home(writer);

      const path = `${home}/d`;
      await create(writer, path);
      for (const write of writesAt(path)) {
        const { earlier, later } = await moved(trial, members);
        await create(later, `${path}/there`, ephemeral);
        expect(await errOf(earlier, "ping", undefined)).toBe(0);
        expect(await errOf(earlier, "sync", { path: "/" })).toBe(0);
        expect(await childrenOf(earlier, path)).toEqual(["there"]);
        const frames = earlier.frames.length;
        await expect(earlier.askAll(write)[0]).rejects.toThrow("the server closed the connection");
        expect(earlier.frames.length).toBe(frames);
        await ok(later.ask("sync", { path: "/" }));
        expect(await childrenOf(later, path)).toEqual(["there"]);
        expect((await statOf(later, path))?.version).toBe(0);
        expect(await errOf(later, "closeSession", undefined)).toBe(0);
        await later.closed();
      }

      // The end of the session is the only change that the server accepts from the connection that has lost the session.
      const { earlier, later } = await moved(trial, members);
      await create(later, `${home}/last`, ephemeral);
      expect(await errOf(earlier, "closeSession", undefined)).toBe(0);
      await Promise.all([earlier.closed(), later.closed()]);
      await ok(writer.ask("sync", { path: "/" }));
      expect(await statOf(writer, `${home}/last`)).toBeNull();

      for (let round = 0; round < 20; round++) {
        const catchUp = await lags(reader.session.sessionId);
        const fresh = `${home}/fresh-${round}`;
        await create(writer, fresh);
        expect(await statOf(reader, fresh)).toBeNull();
        const [synced, seen] = reader.askAll(
          ["sync", { path: "/" }],
          ["exists", { path: fresh, watch: false }],
        );
        await catchUp();
        expect([(await synced)?.err, (await seen)?.err]).toEqual([0, 0]);
      }
    },
  },
];
