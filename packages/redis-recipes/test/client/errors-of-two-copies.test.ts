import { BackendError } from "@holdfast/core";
import { expect, test, vi } from "vitest";
import * as redis from "../../src/index.js";

test("errors of this package are known by instanceof of another copy of it, each by its own class only", async () => {
  const details = { servers: ["h:1"] };
  const errors = {
    MissingRightError: new redis.MissingRightError(["+get"], "NOPERM", details),
    ServerTooOldError: new redis.ServerTooOldError("5.0", details),
    ClusterNodeError: new redis.ClusterNodeError(details),
    TooFewReplicasError: new redis.TooFewReplicasError({ needed: 1, configured: 2, connected: 0 }, details),
  };
  vi.resetModules();
  const copy = await import("../../src/index.js");
  expect(copy.MissingRightError).not.toBe(redis.MissingRightError);
  for (const [name, error] of Object.entries(errors)) {
    expect(error).toBeInstanceOf(BackendError);
    expect(error.name).toBe(name);
    for (const other of Object.keys(errors) as (keyof typeof errors)[])
      expect([name, other, error instanceof copy[other]]).toEqual([name, other, name === other]);
  }
});
