import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { RunClock } from "../../src/engine/clock.js";
import { ProtectedResource } from "../../src/engine/resource.js";
import type { Probe } from "../../src/probe/index.js";

/** The probe as a service in a run gets it, and what it has said so far. */
async function inRun(): Promise<{ probe: Probe; said: () => Record<string, unknown>[]; effects: object[] }> {
  const folder = mkdtempSync(join(tmpdir(), "probe-"));
  const file = join(folder, "said");
  const fd = openSync(file, "a");
  const effects: object[] = [];
  const resource = await ProtectedResource.open({ record: (record) => effects.push(record) });
  onTestFinished(async () => {
    await resource.close();
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  const { base: clockBase } = new RunClock();
  process.env.CHAOS_PROBE = JSON.stringify({
    fd,
    p: "s0#0",
    clockBase,
    resource: resource.address,
    keys: ["stock"],
  });
  vi.resetModules();
  const { probe } = await import("../../src/probe/index.js");
  // Other test files in this worker must not see the run.
  vi.resetModules();
  const said = () =>
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { probe, said, effects };
}

it("in a run the probe writes what the service does, in order, and its write comes to the resource under its token", async () => {
  const { probe, said, effects } = await inRun();
  expect(probe.active).toBe(true);
  // Children of the service are not instances of it, so they must not inherit the variable.
  expect(process.env.CHAOS_PROBE).toBeUndefined();
  const lost = new AbortController();
  const held = probe.acquiring("stock").granted({ token: 7n, remainingMs: 1_000, lost: lost.signal });
  expect(await held.write()).toBe(true);
  lost.abort(new Error("lease over"));
  held.releasing().fail("lost");
  probe.acquiring("stock").refused();
  const [ready, ...records] = said();
  expect(ready).toEqual({
    say: "ready",
    versions: { node: process.versions.node, pid: String(process.pid) },
  });
  expect(records).toMatchObject([
    { type: "invoke", f: "acquire", key: "stock", op: 1, p: "s0#0" },
    { type: "ok", f: "acquire", op: 1, ret: { hold: "s0#0:1", token: "7", validUntil: expect.any(Number) } },
    { type: "invoke", f: "write", op: 2, hold: "s0#0:1" },
    { type: "ok", f: "write", op: 2 },
    { type: "event", f: "lost", hold: "s0#0:1", cause: "lease over" },
    { type: "invoke", f: "release", op: 3, hold: "s0#0:1" },
    { type: "fail", f: "release", op: 3, error: "lost" },
    { type: "invoke", f: "acquire", op: 4 },
    { type: "fail", f: "acquire", op: 4 },
  ]);
  expect(effects).toMatchObject([{ accepted: true, hold: "s0#0:1", token: "7", read: 0, value: 1 }]);
});

it("two writes of one hold are two effects, the second over the first", async () => {
  const { probe, effects } = await inRun();
  const held = probe.acquiring("stock").granted({ token: 7n });
  expect([await held.write(), await held.write()]).toEqual([true, true]);
  expect(effects).toMatchObject([
    { read: 0, value: 1 },
    { read: 1, value: 2 },
  ]);
});

it("a late write under an older token is refused, and one without a token is a lost update", async () => {
  const { probe, effects } = await inRun();
  const acquire = (token?: bigint) => probe.acquiring("stock").granted(token === undefined ? {} : { token });
  const [older, plain, newer] = [acquire(1n), acquire(), acquire(2n)];
  expect(await newer.write()).toBe(true);
  expect(await older.write()).toBe(false);
  expect(await plain.write()).toBe(true);
  expect(effects.at(-1)).toMatchObject({ accepted: true, read: 0, value: 1 });
});

it("a lock that the run does not know is an error, in the service and in the run", async () => {
  const { probe, said } = await inRun();
  expect(() => probe.acquiring("orders")).toThrow(
    "the run knows the locks stock, and not orders: name it with --key",
  );
  expect(said().at(-1)).toMatchObject({
    say: "failed",
    error: expect.stringContaining("name it with --key"),
  });
});
