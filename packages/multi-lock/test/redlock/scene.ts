import type { Millis } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { calm } from "../../../redis-recipes/test/recipes/simulated-line.js";
import type { RedLocksOptions } from "../../src/redlock/options.js";
import { SimulatedNode } from "./simulated-node.js";
import { SimulatedProcess } from "./simulated-process.js";

/** Nodes and processes in a world whose time passes only while the test waits for something. One way takes 1 ms. */
export class Scene {
  readonly world: SimulatedRuntime = simulatedRuntime(1);
  readonly nodes: readonly SimulatedNode[];
  readonly processes: SimulatedProcess[] = [];

  constructor(count: number) {
    this.nodes = Array.from({ length: count }, (_, index) => {
      const node = new SimulatedNode(this.world, index, 1_000_000);
      node.onPublish = (channel, message) => {
        for (const { lines } of this.processes) lines[index]?.publish(channel, message);
      };
      return node;
    });
  }

  process(
    options: Omit<RedLocksOptions, "nodes" | "runtime"> = {},
    { rate = 0 }: { rate?: number } = {},
  ): SimulatedProcess {
    const given = { leaseMs: 10_000, nodeTimeoutMs: 50, ...options };
    const process = new SimulatedProcess(this.nodes, given, { rate });
    this.processes.push(process);
    return process;
  }

  /** Lets time pass until the promise settles. */
  async done<T>(promise: Promise<T>): Promise<T> {
    let open = true;
    const settled = promise.finally(() => {
      open = false;
    });
    settled.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    while (open) if (!(await this.world.step())) throw new Error("nothing is left to happen");
    return await settled;
  }

  pass(forMs: Millis): Promise<void> {
    return this.world.advance(forMs);
  }

  /** The number of nodes on which the lock has a holder. */
  heldOn(name: string): number {
    return this.nodes.filter((node) => node.holderOf(name) !== undefined).length;
  }
}

/** From now on a message takes `delayMs` one way. */
export function slow(process: SimulatedProcess, indexes: readonly number[], delayMs: Millis): void {
  for (const index of indexes) {
    const line = process.lines[index];
    if (line === undefined) throw new Error(`no node ${index}`);
    line.weather = { ...calm, delayMs: () => delayMs };
  }
}
