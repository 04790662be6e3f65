import { readFile } from "node:fs/promises";
import { CreateFlags } from "@holdfast/zk-protocol";
import { describe, expect, test } from "vitest";
import { ManualClock, type ZkTestServer, zkTestServer } from "../../src/index.js";
import { WireClient } from "../support/wire-client.js";

interface Scope {
  readonly zk: ZkTestServer;
  readonly session: bigint;
  readonly sessions: readonly bigint[];
  readonly clock: ManualClock;
}

const text = await readFile(new URL("../../docs/fault-points.md", import.meta.url), "utf8");
const points = text.split("\n").flatMap((line) => {
  const number = /^\| +(\d+) \|/.exec(line)?.[1];
  const cell = line.split(" | ").at(-1) ?? "";
  const lines = [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "");
  return line.startsWith("| ") && lines.length > 0 ? [{ number, lines }] : [];
});

/** Runs one line of code as the body of a user's test. */
async function perform(line: string, scope: Scope): Promise<void> {
  const names = Object.keys(scope).join(", ");
  const body = new Function(`{ ${names} }`, `return (async () => { ${line}; })();`);
  await (body as (scope: Scope) => Promise<void>)(scope);
}

test("the list has all 35 fault points in order, each with a line", () => {
  const numbered = points.flatMap(({ number }) => (number === undefined ? [] : [Number(number)]));
  expect(numbered).toEqual(Array.from({ length: 35 }, (_, index) => index + 1));
  expect(points.length - numbered.length).toBe(2);
});

describe.each(points)("fault point $number", ({ lines }) => {
  test.each(lines)("%s", async (line) => {
    const clock = new ManualClock();
    await using zk = await zkTestServer({ clock, paths: ["/q"] });
    const clients = [await WireClient.connect(zk.connectString), await WireClient.connect(zk.connectString)];
    const sessions = clients.map(({ session }) => session.sessionId);
    await clients[1]?.create("/q/a", CreateFlags.ephemeral);
    await perform(line, { zk, session: sessions[0] as bigint, sessions, clock });
    zk.heal();
    expect(zk.faults.active).toBe(false);
    const healed = await WireClient.connect(zk.connectString);
    expect(await healed.exists("/q")).toBe(true);
    await healed.close();
    for (const client of clients) await client.close();
  });
});
