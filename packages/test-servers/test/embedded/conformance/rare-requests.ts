import {
  CreateFlags,
  decodeConnectResponse,
  decodeReplyHeader,
  encodeFrame,
  encodeRequest,
  encodeRequestHeader,
  opCodes,
  Perms,
  replyHeaderBytes,
} from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { createOf, errOf, ok, statOf } from "../support/requests.js";
import { requestFrame } from "../support/wire.js";
import type { Item } from "./trial.js";

/** What clients in other languages send, and what no client sends: nulls in a request, and operations between servers. */
export const rareRequests: readonly Item[] = [
  {
    number: 73,
    title:
      "an ACL entry with a null id is one of the scheme auth, and malformed where its scheme looks at the id",
    async run(trial) {
      const wire = await trial.open();
      const entry = (scheme: string | null, id: string | null) => [{ perms: Perms.ALL, scheme, id }];
      const made = (scheme: string | null, id: string | null = null) =>
        errOf(wire, "create", createOf(trial.path, { acl: entry(scheme, id) }));
      expect(await made("auth")).toBe(-114);
      await wire.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
      for (const scheme of ["world", "digest", "ip"])
        expect([scheme, await made(scheme)]).toEqual([scheme, -5]);
      for (const scheme of [null, "odd", "super"])
        expect([scheme, await made(scheme)]).toEqual([scheme, -114]);
      expect(await made(null, "anyone")).toBe(-114);
      expect(await made("auth")).toBe(0);
      const { acl } = await ok(wire.ask("getACL", { path: trial.path }));
      expect(acl).toEqual([{ perms: 31, scheme: "digest", id: "u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=" }]);
      expect(await errOf(wire, "setACL", { path: trial.path, acl: entry("auth", null), version: -1 })).toBe(
        0,
      );
      const { results } = await ok(
        wire.ask("multi", {
          ops: [{ op: "create", request: createOf(`${trial.path}/m`, { acl: entry("auth", null) }) }],
        }),
      );
      expect(results).toEqual([{ op: "create", path: `${trial.path}/m` }]);
    },
  },
  {
    number: 74,
    title: "a null path of sync is sent back, and a null scheme of auth fails and closes the connection",
    async run(trial) {
      const wire = await trial.open();
      expect(await ok(wire.ask("sync", { path: null }))).toEqual({ path: null });
      expect(await wire.ask("auth", { type: 0, scheme: null, auth: Buffer.from("u:p") }, -4)).toMatchObject({
        err: -115,
      });
      await wire.closed();
      await trial.open(wire.credentials);
    },
  },
  {
    number: 75,
    title: "what only servers send each other neither deletes nor makes anything when a client sends it",
    async run(trial) {
      const wire = await trial.open();
      const path = trial.path;
      await ok(wire.ask("createContainer", createOf(path, { flags: CreateFlags.container })));
      expect(await errOf(wire, "deleteContainer", { path })).toBe(-8);
      expect(await statOf(wire, path)).not.toBeNull();
      const raw = await trial.open();
      raw.expect("createSession");
      raw.write(requestFrame(1, "createSession", { timeoutMs: 5_000 }));
      // The answer is no reply to the request, but the greeting with the client's own session once more.
      expect(decodeConnectResponse(await raw.frame(1))).toEqual(decodeConnectResponse(await raw.frame(0)));
      expect(await errOf(await trial.open(raw.credentials), "exists", { path, watch: false })).toBe(0);
    },
  },
  {
    number: 76,
    title:
      "a multiRead with the steps of a transaction is malformed, and its error has the body of an empty response",
    async run(trial) {
      const wire = await trial.open();
      const request = encodeRequest("multi", {
        ops: [{ op: "delete", request: { path: "/", version: -1 } }],
      });
      const header = encodeRequestHeader({ xid: 1, type: opCodes.multiRead });
      wire.expect("multiRead");
      wire.write(encodeFrame(header, request));
      const frame = await wire.frame(1);
      expect(decodeReplyHeader(frame).err).toBe(-5);
      expect(frame.subarray(replyHeaderBytes).toString("hex")).toBe("ffffffff01ffffffff");
      expect(await errOf(wire, "exists", { path: "/", watch: false })).toBe(0);
    },
  },
];
