import { BackendError } from "@holdfast/core";
import { eventually, startProxy } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { FaultyServer, holdKeyOf, kindNames, kinds } from "./faulty-server.js";

const server = new FaultyServer();
const scripts = { name: ["EVALSHA", "EVAL"] };

/** What the server has of a hold: the counts in the fields of a lock, or `1` for a permit that is taken. */
async function heldAt(kind: (typeof kindNames)[number], name: string): Promise<string[]> {
  if (kind === "permit") {
    return (await server.number("ZCARD", holdKeyOf(kind, name))) === 1 ? ["1"] : [];
  }
  const fields = await server.texts("HGETALL", name);
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1] !== "mode");
}

it.each(kindNames)(
  "defect 7: a %s asked for again after a lost answer is held once, and free after one release",
  async (kind) => {
    const { locks, link } = await server.client();
    const name = server.name("again");
    if (kind === "permit") await locks.permitSemaphore(name).setLimit(1);
    // The first script for a permit sets the limit, so the acquire is the second one.
    const lost = link.dropReply({ ...scripts, nth: kind === "permit" ? 2 : 1 });
    const attempt = kinds[kind](locks, name, { waitMs: 5_000 });
    const handle = await attempt.catch(async (error: unknown) => {
      // A kind that does not wait in a queue may answer that the outcome is unknown. Then nothing is left at the server: see
      // defect 8.
      expect(error).toBeInstanceOf(BackendError);
      return await kinds[kind](locks, name, { waitMs: 5_000 });
    });
    expect(lost.hits).toHaveLength(1);
    expect(await heldAt(kind, name)).toEqual(["1"]);
    await handle.confirm();
    expect(await handle.release()).toBe("released");
    expect(await heldAt(kind, name)).toEqual([]);
  },
);

it("defect 7: an acquire that is answered after its time-out is asked for again, and counts once", async () => {
  const { locks, link } = await server.client();
  const name = server.name("slow");
  const held = link.holdReply(scripts);
  const acquiring = locks.mutex(name).acquire({ waitMs: 10_000 });
  const late = await held.hit();
  await eventually(async () => (await heldAt("mutex", name)).length === 1, { what: "the server to have it" });
  // The client gives the answer up after a second, and asks again as soon as it has a connection.
  await link.waitFor(
    ({ kind, name, connection }) =>
      kind === "command" && scripts.name.includes(name) && connection !== late.connection,
    { what: "the request on another connection" },
  );
  held.release();
  const handle = await acquiring;
  expect(late.script).toBeDefined();
  expect(await heldAt("mutex", name)).toEqual(["1"]);
  expect(await handle.release()).toBe("released");
  expect(await server.number("EXISTS", name)).toBe(0);
});

it.each(kindNames)(
  "defect 8: a %s that is asked for with waitMs 0 and whose answer is lost is free again long before its lease ends",
  async (kind) => {
    const { locks, link } = await server.client();
    const name = server.name("ambiguous");
    if (kind === "permit") await locks.permitSemaphore(name).setLimit(1);
    const lost = link.dropReply({ ...scripts, nth: kind === "permit" ? 2 : 1 });
    const error = await kinds[kind](locks, name, { waitMs: 0, leaseMs: 30_000 }).catch((each) => each);
    expect(error).toBeInstanceOf(BackendError);
    expect(lost.hits).toHaveLength(1);
    await eventually(async () => (await heldAt(kind, name)).length === 0, {
      what: "the hold that nobody knows of to go",
      withinMs: 20_000,
    });
  },
);

it("defect 8: a hold that cannot be given back while the link is down is given back when it is up", async () => {
  const { locks, link } = await server.client({ connectTimeoutMs: 3_000 });
  const name = server.name("down");
  const lost = link.dropReply(scripts);
  const refused = locks
    .mutex(name)
    .tryAcquire({ leaseMs: 30_000 })
    .catch((each) => each);
  await lost.hit();
  await link.setMode("refuse");
  link.resetAll();
  expect(await refused).toBeInstanceOf(BackendError);
  expect(await heldAt("mutex", name)).toEqual(["1"]);
  await link.setMode("ok");
  await eventually(async () => (await heldAt("mutex", name)).length === 0, {
    what: "the release to arrive",
    withinMs: 20_000,
  });
});

it("a server whose answers take two seconds to come through grants all that was asked at once, and is asked once", async () => {
  // This proxy does not parse Redis and passes bytes on as they come. Other proxies wait until an answer is complete.
  const link = await startProxy({ target: server.node.address });
  onTestFinished(() => link.close());
  const locks = await server.through({
    url: `redis://${link.connectString}`,
    heartbeatMs: 200,
    aliveMs: 700,
  });
  const names = Array.from({ length: 200 }, () => server.name("line"));
  await server.node.command("CONFIG", "RESETSTAT");
  // An answer is about 20 bytes long.
  link.setRate({ up: Number.POSITIVE_INFINITY, down: 2_000 });
  const startedMs = performance.now();
  const held = await Promise.all(names.map((name) => locks.mutex(name).acquire({ waitMs: 30_000 })));
  expect(performance.now() - startedMs).toBeGreaterThan(1_500);
  link.setRate(Number.POSITIVE_INFINITY);
  const scripts = /cmdstat_evalsha:calls=(\d+)/.exec(
    String(await server.node.command("INFO", "commandstats")),
  );
  expect(Number(scripts?.[1])).toBeLessThan(1.5 * names.length);
  for (const outcome of await Promise.all(held.map((each) => each.release())))
    expect(outcome).toBe("released");
});
