import { expect, it } from "vitest";
import type { Crew } from "../../src/engine/crew.js";
import type { FaultContext } from "../../src/engine/faults/fault.js";
import { sessionFaults } from "../../src/engine/faults/session.js";
import { Random } from "../../src/engine/random.js";
import { Tally } from "../../src/engine/tally.js";
import type { ServerSet } from "../../src/engine/topologies/server-set.js";
import { granted, invoke, Numbered } from "./numbered.js";

const end = sessionFaults["session.end"];

function context(target: string, set: Partial<ServerSet>) {
  const missed: string[] = [];
  const tally = new Tally();
  const log = new Numbered((record) => tally.see(record));
  log.add(invoke("w1#0", "acquire", "k1", 1), granted("w1#0", "k1", 1));
  const worker = { name: "w1", p: "w1#0", paused: false, process: { running: true } };
  const about: FaultContext = {
    planned: { fault: "session.end", target, atMs: 0 },
    set: set as ServerSet,
    crew: { keys: [{ id: "k1", name: "chaos-k1" }], worker: () => worker } as unknown as Crew,
    tally,
    random: new Random(1, "session"),
    signal: new AbortController().signal,
    begins: () => {},
    missed: (who) => missed.push(who),
  };
  const givesBack = (): void => {
    log.add({ ...invoke("w1#0", "release", "k1", 2), hold: "w1#0:1" });
  };
  return { about, missed, givesBack };
}

it("ends the session of the holder at servers that can do it, who may give back before that is answered", async () => {
  const asked: string[] = [];
  const endSession: ServerSet["endSession"] = async ({ p, key }) => {
    asked.push(`${p} ${key.name}`);
    scene.givesBack();
    return { lease: "7" };
  };
  const scene = context("holder(k1)", { endSession });
  expect(await end?.begin(scene.about)).toEqual({
    target: "w1",
    evidence: { p: "w1#0", of: "w1#0:1", ended: { lease: "7" } },
  });
  expect({ asked, missed: scene.missed }).toEqual({ asked: ["w1#0 chaos-k1"], missed: [] });
});

it("tries again where the server says that nothing was held", async () => {
  let tries = 0;
  const endSession: ServerSet["endSession"] = async () => {
    if (++tries < 3) throw new Error("it holds nothing");
    return {};
  };
  const { about, missed } = context("holder(k1)", { endSession });
  expect(await end?.begin(about)).toMatchObject({ target: "w1" });
  expect(missed).toEqual(["w1", "w1"]);
});

it.each([
  ["holder(k1)", {}],
  ["waiter(k1)", { endSession: async () => ({}) }],
])("is refused at %s of servers with %j", async (target, set) => {
  await expect(end?.begin(context(target, set).about)).rejects.toThrow(
    "session.end is for the holder of a key",
  );
});
