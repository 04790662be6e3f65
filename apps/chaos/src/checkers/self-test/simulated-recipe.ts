import type { HistoryRecord } from "../../history/record.js";
import type { Guard } from "./guards.js";
import { SimulatedClients, workMs } from "./simulated-clients.js";
import { latchScene } from "./simulated-latch.js";
import { keys, SimulatedServer } from "./simulated-server.js";
import { faultsEndMs, SimulatedWorld } from "./simulated-world.js";

const endsMs = 17_000;

/** Simulates a queue lock with sessions on a virtual clock. The same seed gives the same history. */
export function simulate(seed: number, without: Guard | null = null): HistoryRecord[] {
  const world = new SimulatedWorld(seed, without);
  const about: Record<string, unknown> = {};
  for (const [key, meta] of Object.entries(keys))
    about[key] = { backend: "zookeeper", leaseMs: 1_000, ...meta };
  const scenario = without === null ? "simulated" : `simulated without: ${without}`;
  const run = `s${seed}`;
  world.add({ type: "meta", v: 1, run, seed, scenario, keys: about, versions: {}, capabilities: [] });
  const server = new SimulatedServer(world);
  const clients = new SimulatedClients(world, server);
  for (let worker = 0; worker < 6; worker++) {
    const p = `w${worker}#0`;
    world.add({ type: "worker", p, f: "start" });
    world.in(worker, () => clients.work(p));
  }
  // A refusal without a reason can be distinguished from an unlucky one only if there were no faults.
  const faulty = world.has("refuse only what is held");
  for (let at = 500; faulty && at < faultsEndMs; at += 500) world.in(at, () => clients.loseSession());
  for (let at = 5; at < workMs; at += 5) world.in(at, () => look(world, server, false));
  world.in(100, () => latchScene(world));
  world.in(endsMs, () => look(world, server, true));
  world.run();
  return world.records;
}

/** Records what an observer sees: the queue, and at the end everything that is left. */
function look(world: SimulatedWorld, server: SimulatedServer, last: boolean): void {
  for (const [key, entries] of server.queues) {
    if (key !== "mutex" && !last) continue;
    const queue = entries.filter(({ settled }) => !settled).map(({ p, op }) => `${p}:${op}`);
    const left = entries.map(({ p, op }) => `${p}:${op}`);
    const state = { holders: [], queue, ...(last ? { left } : {}) };
    world.add({ type: "snapshot", p: "observer", key, state });
  }
}
