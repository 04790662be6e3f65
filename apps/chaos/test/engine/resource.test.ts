import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { RunClock } from "../../src/engine/clock.js";
import { Recorder } from "../../src/engine/recorder.js";
import { Cells, ProtectedResource } from "../../src/engine/resource.js";
import { readRecords } from "../../src/history/read.js";
import { ResourceClient } from "../../src/workload/resource-client.js";

function cells(): { cells: Cells; effects: unknown[] } {
  const effects: unknown[] = [];
  const recorder = {
    record: (record: unknown) => {
      effects.push(record);
      return 0;
    },
  };
  return { cells: new Cells(recorder), effects };
}

const read = (token?: string) =>
  ({
    id: 1,
    do: "read",
    key: "k1",
    hold: "r",
    fenced: token !== undefined,
    ...(token === undefined ? {} : { token }),
  }) as const;
const write = (hold: string, value: number, token?: string) =>
  ({
    id: 2,
    do: "write",
    key: "k1",
    hold,
    read: value,
    fenced: token !== undefined,
    ...(token === undefined ? {} : { token }),
  }) as const;

describe("the protected resource", () => {
  it("without fencing lets the later of two holders overwrite what it has not read", () => {
    const { cells: resource, effects } = cells();
    expect(resource.answer(read()).value).toBe(0);
    resource.answer(write("a", 0));
    expect(resource.answer(write("b", 0))).toEqual({ id: 2, accepted: true, value: 1 });
    expect(effects).toMatchObject([
      { hold: "a", read: 0, value: 1, accepted: true },
      { hold: "b", read: 0, value: 1, accepted: true },
    ]);
  });

  it("with fencing refuses a worker whose token is older than one that it has seen, and keeps its value", () => {
    const { cells: resource, effects } = cells();
    resource.answer(write("a", 0, "7"));
    resource.answer(write("b", 1, "9"));
    expect(resource.answer(write("a", 1, "7"))).toEqual({ id: 2, accepted: false, value: 2 });
    expect(effects.at(-1)).toMatchObject({ hold: "a", token: "7", accepted: false, value: 2 });
    expect(resource.answer(read("7")).accepted).toBe(false);
    expect(effects.at(-1)).toEqual({
      type: "effect",
      p: "resource",
      key: "k1",
      hold: "r",
      token: "7",
      accepted: false,
    });
  });

  it("with fencing counts a read as seen: a stale write cannot slip in before the newer holder's first", () => {
    const { cells: resource } = cells();
    resource.answer(read("7"));
    resource.answer(read("9"));
    expect(resource.answer(write("a", 0, "7")).accepted).toBe(false);
    expect(resource.answer(write("b", 0, "9"))).toEqual({ id: 2, accepted: true, value: 1 });
  });

  it("compares tokens as numbers of 63 bits, not as text or doubles", () => {
    const { cells: resource } = cells();
    resource.answer(write("a", 0, "9"));
    expect(resource.answer(write("b", 1, "10")).accepted).toBe(true);
    resource.answer(write("c", 2, "9007199254740993"));
    expect(resource.answer(write("d", 3, "9007199254740992")).accepted).toBe(false);
  });

  it("with fencing takes nothing that comes without a token", () => {
    const { cells: resource } = cells();
    expect(
      resource.answer({ id: 1, do: "write", key: "k1", hold: "a", read: 0, fenced: true }).accepted,
    ).toBe(false);
  });

  it("answers workers through its socket, and each write is a record", async () => {
    const folder = mkdtempSync(join(tmpdir(), "resource-"));
    const recorder = new Recorder(join(folder, "history.jsonl"), new RunClock());
    const resource = await ProtectedResource.open(recorder);
    const client = await ResourceClient.open(resource.address);
    const answers = await Promise.all([
      client.ask({ do: "read", key: "k1", hold: "a", fenced: false }),
      client.ask({ do: "write", key: "k1", hold: "a", read: 0, fenced: false }),
    ]);
    client.close();
    await resource.close();
    await recorder.close();
    expect(answers.map(({ value }) => value)).toEqual([0, 1]);
    expect(await readRecords(join(folder, "history.jsonl"))).toMatchObject([
      { type: "effect", hold: "a", value: 1 },
    ]);
    rmSync(folder, { recursive: true });
  });

  it.each([
    "x",
    "null",
    '{"id":1,"do":"read","key":"k1","hold":"a","fenced":true,"token":"41.5"}',
    '{"id":1,"do":"write","key":"k1","hold":"a","fenced":false}',
    '{"id":1,"do":"write","key":"k1","hold":"a","read":"17","fenced":false}',
    '{"id":1,"do":"read","key":"k1","fenced":false}',
  ])("ends the connection of a worker that asks %s, and says why", async (line) => {
    const resource = await ProtectedResource.open({ record: () => 0 });
    const [host, port] = resource.address.split(":");
    const socket = connect({ host: host as string, port: Number(port) });
    socket.write(`${line}\n`);
    const { error } = JSON.parse(await text(socket)) as { error: string };
    expect(error).toContain(line);
    await resource.close();
  });
});
