import { describe, test } from "vitest";
import {
  AddWatchMode,
  CreateFlags,
  errorCodes,
  openAcl,
  type Stat,
  WatcherType,
  xids,
} from "../src/index.js";
import { expectBareReply, expectReply, expectRequest, text } from "./bytes.js";

// Bytes captured between a client and a ZooKeeper 3.8.0 server. Of some requests and replies only a part was kept
// (the operation, the flags, the first fields). Their rest follows the ones that were kept whole.

const openAclHex = "00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65";

const freshStat: Stat = {
  czxid: 0x16n,
  mzxid: 0x16n,
  ctime: 0x1a1fbc0e747n,
  mtime: 0x1a1fbc0e747n,
  version: 0,
  cversion: 0,
  aversion: 0,
  ephemeralOwner: 0n,
  dataLength: 0,
  numChildren: 0,
  pzxid: 0x16n,
};
const freshStatHex =
  "0000000000000016 0000000000000016 000001a1fbc0e747 000001a1fbc0e747 00000000 00000000 00000000 0000000000000000 00000000 00000000 0000000000000016";

const p1 = { path: "/p1", watch: false };

describe("captured writes", () => {
  test("create", () => {
    expectRequest(
      1,
      "create",
      { path: "/p1", data: text("hi"), acl: openAcl, flags: CreateFlags.persistent },
      `00000034 00000001 00000001 00000003 2f7031 00000002 6869 ${openAclHex} 00000000`,
    );
    expectReply(
      { xid: 1, zxid: 0x15n },
      "create",
      { path: "/p1" },
      "00000017 00000001 0000000000000015 00000000 00000003 2f7031",
    );
  });

  test("create of an ephemeral sequential node is answered with its numbered path", () => {
    expectRequest(
      1,
      "create",
      { path: "/p1/lock-", data: null, acl: openAcl, flags: CreateFlags.ephemeralSequential },
      `00000038 00000001 00000001 00000009 2f70312f6c6f636b2d ffffffff ${openAclHex} 00000003`,
    );
    expectReply(
      { xid: 1, zxid: 0x15n },
      "create",
      { path: "/p1/lock-0000000000" },
      "00000027 00000001 0000000000000015 00000000 00000013 2f70312f6c6f636b2d30303030303030303030",
    );
  });

  test("create2", () => {
    expectRequest(
      2,
      "create2",
      { path: "/p2", data: text(""), acl: openAcl, flags: CreateFlags.persistent },
      `00000032 00000002 0000000f 00000003 2f7032 00000000 ${openAclHex} 00000000`,
    );
    expectReply(
      { xid: 2, zxid: 0x16n },
      "create2",
      { path: "/p2", stat: freshStat },
      `0000005b 00000002 0000000000000016 00000000 00000003 2f7032 ${freshStatHex}`,
    );
  });

  test("createContainer", () => {
    expectRequest(
      3,
      "createContainer",
      { path: "/cont", data: null, acl: openAcl, flags: CreateFlags.container },
      `00000034 00000003 00000013 00000005 2f636f6e74 ffffffff ${openAclHex} 00000004`,
    );
    expectReply(
      { xid: 3, zxid: 0x16n },
      "createContainer",
      { path: "/cont", stat: freshStat },
      `0000005d 00000003 0000000000000016 00000000 00000005 2f636f6e74 ${freshStatHex}`,
    );
  });

  test("createTTL", () => {
    expectRequest(
      4,
      "createTTL",
      { path: "/ttl", data: null, acl: openAcl, flags: CreateFlags.ttl, ttlMs: 60_000n },
      `0000003b 00000004 00000015 00000004 2f74746c ffffffff ${openAclHex} 00000005 000000000000ea60`,
    );
    expectReply(
      { xid: 4, zxid: 0x16n },
      "createTTL",
      { path: "/ttl", stat: freshStat },
      `0000005c 00000004 0000000000000016 00000000 00000004 2f74746c ${freshStatHex}`,
    );
  });

  test("setData", () => {
    expectRequest(
      13,
      "setData",
      { path: "/p1", data: text("yo"), version: 0 },
      "00000019 0000000d 00000005 00000003 2f7031 00000002 796f 00000000",
    );
    expectReply(
      { xid: 13, zxid: 0x1dn },
      "setData",
      { stat: freshStat },
      `00000054 0000000d 000000000000001d 00000000 ${freshStatHex}`,
    );
  });

  test("delete", () => {
    expectRequest(
      0x1c,
      "delete",
      { path: "/p2", version: 0 },
      "00000013 0000001c 00000002 00000003 2f7032 00000000",
    );
    expectBareReply({ xid: 0x1c, zxid: 0x25n, err: 0 }, "00000010 0000001c 0000000000000025 00000000");
  });

  test("closeSession", () => {
    expectRequest(7, "closeSession", undefined, "00000008 00000007 fffffff5");
    expectBareReply({ xid: 7, zxid: 0x17bn, err: 0 }, "00000010 00000007 000000000000017b 00000000");
  });
});

describe("captured reads", () => {
  test("exists", () => {
    expectRequest(11, "exists", p1, "00000010 0000000b 00000003 00000003 2f7031 00");
    expectReply(
      { xid: 11, zxid: 0x1cn },
      "exists",
      { stat: freshStat },
      `00000054 0000000b 000000000000001c 00000000 ${freshStatHex}`,
    );
  });

  test("getData", () => {
    expectRequest(12, "getData", p1, "00000010 0000000c 00000004 00000003 2f7031 00");
    expectReply(
      { xid: 12, zxid: 0x1cn },
      "getData",
      { data: text("hi"), stat: freshStat },
      `0000005a 0000000c 000000000000001c 00000000 00000002 6869 ${freshStatHex}`,
    );
  });

  test("getChildren", () => {
    expectRequest(15, "getChildren", p1, "00000010 0000000f 00000008 00000003 2f7031 00");
    expectReply(
      { xid: 15, zxid: 0x1en },
      "getChildren",
      { children: ["lock-0000000001", "lock-0000000000"] },
      `0000003a 0000000f 000000000000001e 00000000 00000002
       0000000f 6c6f636b2d30303030303030303031 0000000f 6c6f636b2d30303030303030303030`,
    );
  });

  test("getChildren2", () => {
    expectRequest(16, "getChildren2", p1, "00000010 00000010 0000000c 00000003 2f7031 00");
    expectReply(
      { xid: 16, zxid: 0x1en },
      "getChildren2",
      { children: ["lock-0000000001", "lock-0000000000"], stat: freshStat },
      `0000007e 00000010 000000000000001e 00000000 00000002
       0000000f 6c6f636b2d30303030303030303031 0000000f 6c6f636b2d30303030303030303030 ${freshStatHex}`,
    );
  });

  test("sync sends the path back", () => {
    expectRequest(0x11, "sync", { path: "/p1" }, "0000000f 00000011 00000009 00000003 2f7031");
    expectReply(
      { xid: 0x11, zxid: 0x1en },
      "sync",
      { path: "/p1" },
      "00000017 00000011 000000000000001e 00000000 00000003 2f7031",
    );
  });

  test("getEphemerals", () => {
    expectRequest(0x1e, "getEphemerals", { prefix: "" }, "0000000c 0000001e 00000067 00000000");
    expectReply(
      { xid: 0x1e, zxid: 0x25n },
      "getEphemerals",
      { ephemerals: ["/p1"] },
      "0000001b 0000001e 0000000000000025 00000000 00000001 00000003 2f7031",
    );
  });

  test("whoAmI", () => {
    expectRequest(0x21, "whoAmI", undefined, "00000008 00000021 0000006b");
    expectReply(
      { xid: 0x21, zxid: 0x25n },
      "whoAmI",
      { clientInfo: [{ authScheme: "ip", user: "127.0.0.1" }] },
      "00000027 00000021 0000000000000025 00000000 00000001 00000002 6970 00000009 3132372e302e302e31",
    );
  });
});

describe("captured traffic of a connection", () => {
  test("ping", () => {
    expectRequest(xids.ping, "ping", undefined, "00000008 fffffffe 0000000b");
    expectBareReply({ xid: xids.ping, zxid: 0x14n, err: 0 }, "00000010 fffffffe 0000000000000014 00000000");
  });

  test("auth, answered with zxid 0", () => {
    expectRequest(
      xids.auth,
      "auth",
      { type: 0, scheme: "digest", auth: text("u:p") },
      "0000001d fffffffc 00000064 00000000 00000006 646967657374 00000003 753a70",
    );
    expectBareReply({ xid: xids.auth, zxid: 0n, err: 0 }, "00000010 fffffffc 0000000000000000 00000000");
    expectBareReply(
      { xid: xids.auth, zxid: 0n, err: errorCodes.AuthFailed },
      "00000010 fffffffc 0000000000000000 ffffff8d",
    );
  });

  test("an unknown operation is answered with zxid -1", () => {
    expectBareReply(
      { xid: 0x2c, zxid: -1n, err: errorCodes.Unimplemented },
      "00000010 0000002c ffffffffffffffff fffffffa",
    );
  });

  test.each([
    ["BadVersion", "ffffff99"],
    ["NoNode", "ffffff9b"],
    ["NodeExists", "ffffff92"],
    ["NotEmpty", "ffffff91"],
    ["NoChildrenForEphemerals", "ffffff94"],
    ["InvalidACL", "ffffff8e"],
    ["NoWatcher", "ffffff87"],
  ] as const)("%s is a reply without a body", (name, err) => {
    expectBareReply(
      { xid: 14, zxid: 0x1en, err: errorCodes[name] },
      `00000010 0000000e 000000000000001e ${err}`,
    );
  });
});

describe("captured watch operations", () => {
  test("setWatches", () => {
    expectRequest(
      xids.setWatches,
      "setWatches",
      { relativeZxid: 0x1c4n, dataWatches: ["/v/a"], existWatches: ["/v/x"], childWatches: ["/v"] },
      "00000032 fffffff8 00000065 00000000000001c4 00000001 00000004 2f762f61 00000001 00000004 2f762f78 00000001 00000002 2f76",
    );
    expectBareReply(
      { xid: xids.setWatches, zxid: 0x1c5n, err: 0 },
      "00000010 fffffff8 00000000000001c5 00000000",
    );
  });

  test("setWatches2", () => {
    expectRequest(
      xids.setWatches,
      "setWatches2",
      {
        relativeZxid: 0x7fn,
        dataWatches: [],
        existWatches: [],
        childWatches: [],
        persistentWatches: ["/v/p"],
        persistentRecursiveWatches: ["/v/r"],
      },
      "00000034 fffffff8 00000069 000000000000007f 00000000 00000000 00000000 00000001 00000004 2f762f70 00000001 00000004 2f762f72",
    );
  });

  test("addWatch, answered with a zero", () => {
    expectRequest(
      1,
      "addWatch",
      { path: "/v", mode: AddWatchMode.persistent },
      "00000012 00000001 0000006a 00000002 2f76 00000000",
    );
    expectRequest(
      1,
      "addWatch",
      { path: "/v", mode: AddWatchMode.persistentRecursive },
      "00000012 00000001 0000006a 00000002 2f76 00000001",
    );
    expectReply(
      { xid: 1, zxid: 0x1d0n },
      "addWatch",
      { err: 0 },
      "00000014 00000001 00000000000001d0 00000000 00000000",
    );
  });

  test("checkWatches and removeWatches", () => {
    expectRequest(
      6,
      "checkWatches",
      { path: "/v/q", type: WatcherType.any },
      "00000014 00000006 00000011 00000004 2f762f71 00000003",
    );
    expectRequest(
      7,
      "removeWatches",
      { path: "/v/q", type: WatcherType.data },
      "00000014 00000007 00000012 00000004 2f762f71 00000002",
    );
  });
});
