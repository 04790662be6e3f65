import { expect, it } from "vitest";
import type { FaultContext } from "../../src/engine/faults/fault.js";
import { holderNetFaults } from "../../src/engine/faults/net-holder.js";
import { Random } from "../../src/engine/random.js";
import { Tally } from "../../src/engine/tally.js";
import { granted, invoke, Numbered } from "./numbered.js";

it("a cut of a holder that fails lets sessions go to the leader again", async () => {
  const tally = new Tally();
  const log = new Numbered((record) => tally.see(record));
  const modes: string[] = [];
  const proxy = { setMode: async (mode: string) => modes.push(mode), resetAll: () => {} };
  const link = { proxies: [proxy], session: () => null };
  const worker = { name: "w0", p: "w0#0", paused: false, process: { running: true }, link };
  const context = {
    planned: { fault: "net.cut-holder", target: "holder(k1)", atMs: 0 },
    set: { servers: [{ name: "zk1", role: async () => "leader" }], addresses: { kind: "zookeeper" } },
    crew: { workers: [worker], worker: () => worker },
    tally,
    random: new Random(1, "net-holder"),
    signal: new AbortController().signal,
  } as unknown as FaultContext;
  log.add(invoke("w0#0", "acquire", "k1", 1), granted("w0#0", "k1", 1));
  const failed = expect(holderNetFaults["net.cut-holder"]?.begin(context)).rejects.toThrow(
    "no session of w0 was seen",
  );
  // The fault passes over the hold that existed before it, and takes the next one.
  await new Promise(setImmediate);
  log.add({ ...invoke("w0#0", "release", "k1", 2), hold: "w0#0:1" });
  log.add(invoke("w0#0", "acquire", "k1", 3), granted("w0#0", "k1", 3));
  await failed;
  expect(modes).toEqual(["refuse", "ok"]);
});
