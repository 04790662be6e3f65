import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddedZooKeeper, ManualClock, startEmbeddedZooKeeper } from "../../src/embedded/index.js";
import { conformance, holds } from "./conformance/list.js";
import { maxSessionTimeoutMs, type Target } from "./conformance/trial.js";

const nearTheLimit = ["/limit/a", "/limit/b"] as const;
let server: EmbeddedZooKeeper;
let stock: EmbeddedZooKeeper;
let members: EmbeddedZooKeeper;
let target: Target;

beforeAll(async () => {
  server = await startEmbeddedZooKeeper({
    words: "all",
    extendedTypes: true,
    containerCheckIntervalMs: 1_000,
    sequences: { [nearTheLimit[0]]: 2_147_483_643, [nearTheLimit[1]]: 2_147_483_644 },
  });
  stock = await startEmbeddedZooKeeper();
  const clock = new ManualClock();
  members = await startEmbeddedZooKeeper({ clock, maxSessionTimeoutMs });
  const { faults } = members;
  target = {
    host: server.host,
    port: server.port,
    stock,
    nearTheLimit,
    ensemble: {
      members: async () => [members, members],
      moves(session) {
        clock.advance(2_000); // plays a slow machine, on which the list must hold too
        faults.on({ op: "connect", session }, { do: "move" });
      },
      async lags(session) {
        faults.staleReads(session);
        return async () => {}; // the session's `sync` has ended it
      },
    },
  };
});

afterAll(async () => {
  await server.stop();
  await stock.stop();
  await members.stop();
});

test("the list has 76 items", () => {
  expect(conformance.map(({ number }) => number)).toEqual(
    Array.from({ length: 76 }, (_, index) => index + 1),
  );
});

describe("the embedded server", () => {
  for (const item of conformance) {
    test(`${item.number}. ${item.title}`, () => holds(item, target));
  }
});
