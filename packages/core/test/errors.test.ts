import { readFileSync } from "node:fs";
import * as core from "@holdfast/core";
import { type ErrorCode, HoldfastError } from "@holdfast/core";
import { describe, expect, it, vi } from "vitest";

/** One error for each code. A code without a line here is a compile error. */
const samples: Record<ErrorCode, () => HoldfastError> = {
  HF_ACQUIRE_TIMEOUT: () => new core.AcquireTimeoutError("m", { waitedMs: 5 }),
  HF_LOCK_LOST: () => new core.LockLostError("m", { reason: "stolen", token: 5n }),
  HF_NOT_HELD: () => new core.NotHeldError("m"),
  HF_EVICTED: () => new core.EvictedError("m"),
  HF_DEADLOCK: () => new core.DeadlockError("m"),
  HF_BACKEND: () => new core.BackendError("m"),
  HF_QUORUM: () => new core.QuorumError("m", { needed: 2, votes: [] }),
  HF_LAYOUT_CONFLICT: () => new core.LayoutConflictError("m"),
  HF_UNSUPPORTED: () => new core.UnsupportedError("m"),
  HF_PROVIDER_CLOSED: () => new core.ProviderClosedError("m"),
  HF_FENCED_OUT: () => new core.FencedOutError("m"),
  HF_INVALID_ARGUMENT: () => new core.InvalidArgumentError("m"),
};

interface Row {
  code: string;
  className: string;
  retryable: boolean;
}

function documented(): Row[] {
  const text = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");
  const rows = [
    ...text.matchAll(/^\| `(HF_\w+)` +\| `(\w+)` +\| .* \| (yes|no|unless [a-z ]+?) +\| .* \|$/gm),
  ];
  return rows.map(([, code = "", className = "", retryable]) => ({
    code,
    className,
    retryable: retryable !== "no",
  }));
}

describe("errors", () => {
  it("are the ones in the documentation, and the documentation has no others", () => {
    const actual = Object.values(samples).map((make): Row => {
      const error = make();
      return { code: error.code, className: error.name, retryable: error.retryable };
    });
    expect(documented()).toEqual(actual);
    const exported = Object.entries(core).filter(
      ([, value]) =>
        typeof value === "function" && value !== HoldfastError && value.prototype instanceof HoldfastError,
    );
    expect(exported.map(([name]) => name).sort()).toEqual(actual.map((row) => row.className).sort());
  });

  it("carry name, cause, lock name and backend, and go into logs without their stacks", () => {
    const cause = new Error("below");
    const error = new core.BackendError("no answer", {
      cause,
      lockName: "a",
      backend: "memory",
      servers: ["h1"],
    });
    expect(error).toMatchObject({
      name: "BackendError",
      cause,
      lockName: "a",
      backend: "memory",
      servers: ["h1"],
    });
    expect(String(error)).toBe("BackendError: no answer");
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "BackendError",
      code: "HF_BACKEND",
      message: "no answer",
      lockName: "a",
    });
  });

  it("are known by instanceof of another copy of the package, each by its own class only", async () => {
    vi.resetModules();
    const copy = await import("@holdfast/core");
    expect(copy.LockLostError).not.toBe(core.LockLostError);
    for (const make of Object.values(samples)) {
      const error = make();
      expect(error).toBeInstanceOf(copy.HoldfastError);
      for (const other of Object.values(samples)) {
        const name = other().name as "NotHeldError";
        expect(error instanceof copy[name]).toBe(error.name === name);
      }
    }
    expect(new Error("plain")).not.toBeInstanceOf(copy.HoldfastError);
    expect(null).not.toBeInstanceOf(copy.NotHeldError);
  });

  it("leave classes derived by users to the ordinary instanceof", () => {
    class Mine extends core.BackendError {}
    expect(new Mine("m")).toBeInstanceOf(core.BackendError);
    expect(new core.BackendError("m")).not.toBeInstanceOf(Mine);
  });
});
