import { hostname } from "node:os";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { isRevokeMessage, nodeData, readNodeData, revokeMessage } from "../../src/layout/node-data.js";

describe("node data", () => {
  it("is the bare address by default, as Curator's", () => {
    expect(Buffer.from(nodeData(false, "a label")).toString()).toMatch(/^\d{1,3}(\.\d{1,3}){3}$/);
  });

  it("tells who we are only with identity, the address first", () => {
    const view = readNodeData(nodeData(true, "nightly"));
    expect(view).toEqual({
      address: expect.stringMatching(/^[\d.]+$/),
      label: `nightly ${hostname()}:${process.pid}`,
      identified: true,
    });
  });

  it.each([
    ["an empty node", new Uint8Array(0), null, null],
    ["no data", null, null, null],
    ["Curator's address", Buffer.from("10.1.2.3"), "10.1.2.3", null],
    ["a text of its own", Buffer.from("job-1"), null, "job-1"],
    ["compressed bytes", gzipSync("10.1.2.3"), null, null],
  ])("reads %s", (_what, data, address, label) => {
    expect(readNodeData(data)).toMatchObject({ address, label, identified: false });
  });

  it("knows Curator's revoke message by its exact bytes", () => {
    expect(Buffer.from(revokeMessage).toString("hex")).toBe("5f5f5245564f4b455f5f");
    expect(isRevokeMessage(Buffer.from("__REVOKE__"))).toBe(true);
    expect(isRevokeMessage(Buffer.from("__REVOKE__ "))).toBe(false);
    expect(isRevokeMessage(null)).toBe(false);
  });
});
