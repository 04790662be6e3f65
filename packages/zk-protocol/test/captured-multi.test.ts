import { describe, expect, test } from "vitest";
import {
  CreateFlags,
  decodeRequest,
  decodeResponse,
  encodeResponse,
  errorCodes,
  multiFailure,
  openAcl,
  ProtocolError,
  type Stat,
} from "../src/index.js";
import { bytes, expectReply, expectRequest } from "./bytes.js";

// Bytes captured between a client and a ZooKeeper 3.8.0 server.

const openAclHex = "00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65";
const end = "ffffffff 01 ffffffff";
const stat: Stat = {
  czxid: 1n,
  mzxid: 2n,
  ctime: 3n,
  mtime: 4n,
  version: 5,
  cversion: 6,
  aversion: 7,
  ephemeralOwner: 8n,
  dataLength: 9,
  numChildren: 10,
  pzxid: 11n,
};
const statHex =
  "0000000000000001 0000000000000002 0000000000000003 0000000000000004 00000005 00000006 00000007 0000000000000008 00000009 0000000a 000000000000000b";

describe("multi", () => {
  test("puts a header before each step and a mark at the end", () => {
    expectRequest(
      1,
      "multi",
      {
        ops: [
          {
            op: "create",
            request: { path: "/a/m1", data: null, acl: openAcl, flags: CreateFlags.persistent },
          },
          { op: "check", request: { path: "/a", version: -1 } },
        ],
      },
      `00000059 00000001 0000000e
       00000001 00 ffffffff 00000005 2f612f6d31 ffffffff ${openAclHex} 00000000
       0000000d 00 ffffffff 00000002 2f61 ffffffff
       ${end}`,
    );
  });

  test("is a mark alone when empty, both ways", () => {
    expectRequest(1, "multi", { ops: [] }, `00000011 00000001 0000000e ${end}`);
    expectReply(
      { xid: 1, zxid: 9n },
      "multi",
      { results: [] },
      `00000019 00000001 0000000000000009 00000000 ${end}`,
    );
  });

  test("is answered with a result for each step", () => {
    const response = {
      results: [
        { op: "create", path: "/a/m1" },
        { op: "setData", stat },
        { op: "delete" },
        { op: "check" },
        { op: "create2", path: "/a/m1", stat },
      ],
    } as const;
    const hex = `00000001 00 00000000 00000005 2f612f6d31
      00000005 00 00000000 ${statHex}
      00000002 00 00000000
      0000000d 00 00000000
      0000000f 00 00000000 00000005 2f612f6d31 ${statHex}
      ${end}`;
    expect(encodeResponse("multi", response).toString("hex")).toBe(bytes(hex).toString("hex"));
    expect(decodeResponse("multi", bytes(hex))).toEqual(response);
    expect(multiFailure(response)).toBeUndefined();
  });

  test("that failed has 0 in the reply header and names the culprit among its results", () => {
    const response = {
      results: [
        { op: "error", code: 0 },
        { op: "error", code: errorCodes.NoNode },
        { op: "error", code: errorCodes.RuntimeInconsistency },
      ],
    } as const;
    expectReply(
      { xid: 1, zxid: 9n },
      "multi",
      response,
      `00000040 00000001 0000000000000009 00000000
       ffffffff 00 00000000 00000000
       ffffffff 00 ffffff9b ffffff9b
       ffffffff 00 fffffffe fffffffe
       ${end}`,
    );
    expect(multiFailure(response)).toEqual({ index: 1, code: errorCodes.NoNode });
  });

  test("counts as failed as soon as one result is an error, whatever its code", () => {
    const results = [{ op: "delete" }, { op: "error", code: 0 }] as const;
    expect(multiFailure({ results })).toEqual({ index: 1, code: 0 });
    expect(multiFailure({ results: [] })).toBeUndefined();
  });

  test("refuses steps and results that have no place in a transaction", () => {
    const getData = bytes(`00000004 00 ffffffff 00000002 2f61 00 ${end}`);
    expect(() => decodeRequest("multi", getData)).toThrow("type 4 has no place here");
    expect(() => decodeResponse("multi", getData)).toThrow("type 4 has no place here");
  });

  test("is malformed without its end mark", () => {
    expect(() => decodeRequest("multi", bytes("0000000d 00 ffffffff 00000002 2f61 ffffffff"))).toThrow(
      ProtocolError,
    );
    expect(() => decodeResponse("multi", bytes("00000002 00 00000000"))).toThrow(ProtocolError);
  });
});

describe("multiRead", () => {
  test("takes reads only", () => {
    expectRequest(
      1,
      "multiRead",
      {
        ops: [
          { op: "getData", request: { path: "/a", watch: false } },
          { op: "getChildren", request: { path: "/a", watch: false } },
        ],
      },
      `00000031 00000001 00000016 00000004 00 ffffffff 00000002 2f61 00 00000008 00 ffffffff 00000002 2f61 00 ${end}`,
    );
    const step = bytes(`0000000d 00 ffffffff 00000002 2f61 ffffffff ${end}`);
    expect(() => decodeRequest("multiRead", step)).toThrow("type 13 has no place here");
    expect(() => decodeResponse("multiRead", step)).toThrow(ProtocolError);
  });
});
