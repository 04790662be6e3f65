import { expect, test } from "vitest";
import type { Link } from "../../src/redis/link.js";
import type { Places } from "../../src/redis/places.js";
import { Servers } from "../../src/redis/servers.js";

test("what is unsafe at a server stays found, since the same moment, while it does not answer, until it is no server any more", async () => {
  let nowMs = 1_000_000;
  let silent = false;
  const link = {
    name: "r1:6379",
    lastCause: null,
    send: async () => {
      if (silent) throw new Error("no answer");
      return [[String(nowMs / 1_000 - 5), "0"], "role:master", "maxmemory_policy:allkeys-lru\r\nmaxmemory:0"];
    },
  } as Partial<Link> as Link;
  let links = [link];
  const places = {
    nodes: () => links,
    sentinels: [],
    masterName: null,
    heardReplication: () => {},
  } as Partial<Places> as Places;
  const servers = new Servers(places, () => nowMs);
  const look = async (): Promise<unknown> => {
    const [server] = await servers.read();
    const found = servers.findings.map(({ kind, object, sinceMs }) => [kind, object, sinceMs]);
    return { reachable: server?.reachable, found };
  };
  const found = [
    ["eviction-policy", "r1:6379", nowMs],
    ["clock-skew", "r1:6379", nowMs],
  ];
  expect(await look()).toEqual({ reachable: true, found });
  silent = true;
  nowMs += 60_000;
  expect(await look()).toEqual({ reachable: false, found });
  silent = false;
  nowMs += 60_000;
  expect(await look()).toEqual({ reachable: true, found });
  links = [];
  expect(await look()).toEqual({ found: [] });
});
