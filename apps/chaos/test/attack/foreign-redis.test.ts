import { describe, expect, it } from "vitest";
import { through } from "../../src/attack/foreign-redis.js";
import { parseTarget } from "../../src/attack/target.js";
import type { AttackedServers } from "../../src/workload/addresses.js";

type Attacked = Extract<AttackedServers, { backend: "redis" }>;

const near = (port: number) => ({ host: "127.0.0.1", port });
const ways = new Map([
  ["s:1", near(51)],
  ["master:2", near(52)],
  ["replica:3", near(53)],
]);
const by = (url: string) => through(ways, parseTarget(url) as Attacked);

describe("the way of a worker to a Redis of a user's", () => {
  it("leads to one server by its proxy, as the same user and with the same certificates", () => {
    const found = through(new Map([["far:6", near(56)]]), parseTarget("rediss://u:p@far:6/2") as Attacked);
    expect(found).toMatchObject({
      tls: { names: ["far"] },
      options: { url: "rediss://127.0.0.1:56/2", username: "u", password: "p" },
    });
  });

  it.each(["redis+sentinel://s:1/m", "redis+cluster://s:1"])(
    "of %s leads to each server that is named later by its proxy as well",
    (url) => {
      const { sentinels, cluster } = by(url).options;
      expect(sentinels?.sentinels ?? cluster?.nodes).toEqual([near(51)]);
      expect((sentinels ?? cluster)?.natMap).toEqual({
        "s:1": near(51),
        "master:2": near(52),
        "replica:3": near(53),
      });
    },
  );
});
