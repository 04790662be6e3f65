import { hostname } from "node:os";
import { gzipSync } from "node:zlib";
import { InvalidArgumentError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import {
  candidateData,
  isRevokeMessage,
  nodeData,
  readCandidateData,
  readNodeData,
  revokeMessage,
} from "../../src/layout/node-data.js";

describe("node data", () => {
  it("is the bare address by default, as Curator's", () => {
    expect(Buffer.from(nodeData(false, "a label")).toString()).toMatch(/^\d{1,3}(\.\d{1,3}){3}$/);
  });

  it("names our label, host and process only with identity, the address first", () => {
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

describe("a candidate's data", () => {
  const text = (data: Uint8Array): string => Buffer.from(data).toString();

  it.each(["latch", "selector"] as const)("is the label as it is, with identity too: %s", (layout) => {
    for (const identity of [false, true]) {
      expect(text(candidateData(layout, identity, "zürich-1"))).toBe("zürich-1");
    }
    expect(readCandidateData(layout, candidateData(layout, false, "zürich-1"))).toEqual({
      address: null,
      label: "zürich-1",
      identified: false,
    });
  });

  it("without a label has no bytes in a latch, and Curator's default in a selector", () => {
    for (const label of [null, ""]) {
      expect(candidateData("latch", false, label)).toHaveLength(0);
      expect(candidateData("selector", false, label)).toEqual(nodeData(false, null));
      expect(candidateData("latch", true, label)).toEqual(nodeData(true, null));
    }
  });

  it("of a latch is its label, an address too", () => {
    expect(readCandidateData("latch", Buffer.from("10.1.2.3"))).toMatchObject({
      address: null,
      label: "10.1.2.3",
    });
    expect(readCandidateData("selector", Buffer.from("10.1.2.3"))).toMatchObject({
      address: "10.1.2.3",
      label: null,
    });
  });

  it("with identity shows host and process of a candidate without a label", () => {
    expect(readCandidateData("latch", candidateData("latch", true, null))).toMatchObject({
      label: `${hostname()}:${process.pid}`,
      identified: true,
    });
  });

  it("is never what asks a leader to resign, and shows nothing where that was written over it", () => {
    expect(() => candidateData("latch", false, "__REVOKE__")).toThrow(InvalidArgumentError);
    expect(readCandidateData("latch", revokeMessage)).toMatchObject({ label: null, address: null });
  });
});
