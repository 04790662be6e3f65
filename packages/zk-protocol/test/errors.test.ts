import { describe, expect, test } from "vitest";
import { errorCodes, errorName, InvalidPathError, ProtocolError, ZooKeeperError } from "../src/index.js";

// Written out a second time on purpose: a number changed by mistake in the source must not pass.
const table: readonly (readonly [number, string])[] = [
  [0, "Ok"],
  [-1, "SystemError"],
  [-2, "RuntimeInconsistency"],
  [-3, "DataInconsistency"],
  [-4, "ConnectionLoss"],
  [-5, "MarshallingError"],
  [-6, "Unimplemented"],
  [-7, "OperationTimeout"],
  [-8, "BadArguments"],
  [-12, "UnknownSession"],
  [-13, "NewConfigNoQuorum"],
  [-14, "ReconfigInProgress"],
  [-100, "APIError"],
  [-101, "NoNode"],
  [-102, "NoAuth"],
  [-103, "BadVersion"],
  [-108, "NoChildrenForEphemerals"],
  [-110, "NodeExists"],
  [-111, "NotEmpty"],
  [-112, "SessionExpired"],
  [-113, "InvalidCallback"],
  [-114, "InvalidACL"],
  [-115, "AuthFailed"],
  [-118, "SessionMoved"],
  [-119, "NotReadOnly"],
  [-120, "EphemeralOnLocalSession"],
  [-121, "NoWatcher"],
  [-122, "RequestTimeout"],
  [-123, "ReconfigDisabled"],
  [-124, "SaslRequired"],
  [-125, "QuotaExceeded"],
  [-127, "ThrottledOp"],
];

describe("error codes", () => {
  test("are those of ZooKeeper, all of them", () => {
    expect(Object.entries(errorCodes).map(([name, code]) => [code, name])).toEqual(table);
  });

  test("have their names", () => {
    expect(table.map(([code]) => errorName(code))).toEqual(table.map(([, name]) => name));
  });

  test("outside the table stay readable", () => {
    expect(errorName(-999)).toBe("Unknown(-999)");
    expect(errorName(1)).toBe("Unknown(1)");
  });
});

describe("ZooKeeperError", () => {
  test("says what was asked and what the server answered", () => {
    const error = new ZooKeeperError(errorCodes.NoNode, { op: "delete", path: "/a/b" });
    expect(error).toMatchObject({
      name: "ZooKeeperError",
      code: -101,
      codeName: "NoNode",
      op: "delete",
      path: "/a/b",
    });
    expect(error.message).toBe('ZooKeeper answered NoNode (-101) to delete of "/a/b"');
    expect(error).toBeInstanceOf(Error);
  });

  test("keeps a code it does not know", () => {
    const error = new ZooKeeperError(-999);
    expect(error).toMatchObject({ code: -999, codeName: "Unknown(-999)", op: undefined, path: undefined });
    expect(error.message).toBe("ZooKeeper answered Unknown(-999) (-999)");
  });
});

describe("the classes of errors", () => {
  test("can be distinguished by class and by name", () => {
    const path = new InvalidPathError("a", 0, "a", "it must start with /");
    const protocol = new ProtocolError("path: truncated");
    expect(path).not.toBeInstanceOf(ProtocolError);
    expect([path.name, protocol.name]).toEqual(["InvalidPathError", "ProtocolError"]);
  });
});
