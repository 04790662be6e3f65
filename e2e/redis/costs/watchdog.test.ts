import { eventually, type RespEntry } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
const leaseMs = 3_000;

const isScript = ({ kind, name }: RespEntry): boolean => kind === "command" && name.startsWith("EVAL");

it("renews all holds of a provider in one call a period, each event with the time that was left", async () => {
  const { locks, link } = await server.linked({ leaseMs });
  const margins: number[] = [];
  locks.events.on("renewed", ({ marginMs }) => margins.push(marginMs));
  const names = Array.from({ length: 40 }, () => server.name("batched"));
  await Promise.all(names.map((name) => locks.mutex(name).acquire()));
  link.reset();
  await eventually(() => margins.length >= names.length, { what: "a renewal of each", withinMs: leaseMs });
  expect(link.trace.filter(isScript).length).toBeLessThanOrEqual(3);
  expect(Math.max(...margins)).toBeLessThanOrEqual((2 / 3) * leaseMs + 50);
  expect(Math.min(...margins)).toBeGreaterThan(0);
});

it("renews nothing that is not its own: one hold of a batch that another client has is lost, and the others are not", async () => {
  const locks = await server.locks({ leaseMs });
  const [taken, kept] = [server.name("taken"), server.name("kept")];
  const [one, other] = await Promise.all([taken, kept].map((name) => locks.mutex(name).acquire()));
  await server.node.command("DEL", taken);
  await server.node.command("HSET", taken, "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa:57", "1");
  await server.node.command("PEXPIRE", taken, 60_000);
  const lost: unknown[] = [];
  const renewed: string[] = [];
  locks.events.on("lost", ({ name, reason }) => lost.push([name, reason]));
  locks.events.on("renewed", ({ name }) => renewed.push(name));
  await eventually(() => renewed.includes(kept) && lost.length > 0, { what: "the renewal of both" });
  expect(lost).toEqual([[taken, "lease-missing"]]);
  expect(one?.lost.aborted).toBe(true);
  expect(other?.lost.aborted).toBe(false);
  expect(await server.number("PTTL", taken)).toBeGreaterThan(leaseMs);
});

it("tries again and again while no answer comes, with ever less time left, and is lost before the server lets go", async () => {
  const { locks, link } = await server.linked({ leaseMs });
  const name = server.name("unanswered");
  const handle = await locks.mutex(name).acquire();
  const margins: number[] = [];
  locks.events.on("renew-failed", ({ marginMs }) => margins.push(marginMs));
  const lost = new Promise<string>((resolve) => {
    locks.events.on("lost", ({ reason }) => resolve(reason));
  });
  await link.setMode("reset");
  const deadlineMs = performance.now() + handle.remainingMs();
  // The server cannot end the hold before `overMs`, since it reads PTTL after `sentMs`. On a busy machine this bound is too
  // early, so the latest of several is taken.
  let overMs = 0;
  for (let asked = 0; asked < 20 && overMs <= deadlineMs; asked++) {
    const sentMs = performance.now();
    overMs = Math.max(overMs, sentMs + (await server.number("PTTL", name)));
  }
  expect(deadlineMs).toBeLessThan(overMs);
  expect(await lost).toBe("lease-expired");
  expect(margins.length).toBeGreaterThanOrEqual(3);
  expect(margins).toEqual([...margins].sort((a, b) => b - a));
  await link.setMode("ok");
});
