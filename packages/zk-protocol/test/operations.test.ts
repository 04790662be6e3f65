import { describe, expect, test } from "vitest";
import {
  AddWatchMode,
  CreateFlags,
  isWrite,
  maxRequestBytes,
  type OpName,
  opCodes,
  openAcl,
  opNameOf,
  Perms,
  passwordLength,
  WatcherType,
  xids,
} from "../src/index.js";

// Written out a second time on purpose: a number changed by mistake in the source must not pass.
const table: readonly (readonly [OpName, number, "read" | "write"])[] = [
  ["create", 1, "write"],
  ["delete", 2, "write"],
  ["exists", 3, "read"],
  ["getData", 4, "read"],
  ["setData", 5, "write"],
  ["getACL", 6, "read"],
  ["setACL", 7, "write"],
  ["getChildren", 8, "read"],
  ["sync", 9, "read"],
  ["ping", 11, "read"],
  ["getChildren2", 12, "read"],
  ["check", 13, "write"],
  ["multi", 14, "write"],
  ["create2", 15, "write"],
  ["reconfig", 16, "write"],
  ["checkWatches", 17, "read"],
  ["removeWatches", 18, "read"],
  ["createContainer", 19, "write"],
  ["deleteContainer", 20, "write"],
  ["createTTL", 21, "write"],
  ["multiRead", 22, "read"],
  ["auth", 100, "read"],
  ["setWatches", 101, "read"],
  ["sasl", 102, "read"],
  ["getEphemerals", 103, "read"],
  ["getAllChildrenNumber", 104, "read"],
  ["setWatches2", 105, "read"],
  ["addWatch", 106, "read"],
  ["whoAmI", 107, "read"],
  ["createSession", -10, "write"],
  ["closeSession", -11, "write"],
];

describe("operations", () => {
  test("have the numbers of ZooKeeper, all of them", () => {
    expect(Object.entries(opCodes)).toEqual(table.map(([op, code]) => [op, code]));
  });

  test.each(table)("%s is found by %i and is a %s", (op, code, kind) => {
    expect(opNameOf(code)).toBe(op);
    expect(isWrite(op)).toBe(kind === "write");
  });

  test.each([0, 10, 77, 108, -1])("%i is no operation", (code) => {
    expect(opNameOf(code)).toBeUndefined();
  });
});

describe("constants", () => {
  test("are those of ZooKeeper", () => {
    expect(CreateFlags).toEqual({
      persistent: 0,
      ephemeral: 1,
      persistentSequential: 2,
      ephemeralSequential: 3,
      container: 4,
      ttl: 5,
      ttlSequential: 6,
    });
    expect(WatcherType).toEqual({ children: 1, data: 2, any: 3, persistent: 4, persistentRecursive: 5 });
    expect(AddWatchMode).toEqual({ persistent: 0, persistentRecursive: 1 });
    expect(Perms).toEqual({ READ: 1, WRITE: 2, CREATE: 4, DELETE: 8, ADMIN: 16, ALL: 31 });
    expect(xids).toEqual({ event: -1, ping: -2, auth: -4, setWatches: -8 });
    expect([passwordLength, maxRequestBytes]).toEqual([16, 0xfffff]);
  });

  test("the open ACL cannot be changed by one user for all others", () => {
    expect(openAcl).toEqual([{ perms: 31, scheme: "world", id: "anyone" }]);
    expect(() => Object.assign(openAcl[0] ?? {}, { perms: 1 })).toThrow(TypeError);
    expect(() => (openAcl as unknown[]).push({})).toThrow(TypeError);
  });
});
