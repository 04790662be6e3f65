import { EventEmitter } from "node:events";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import type { Cluster } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { increment, openLine } from "./support.js";

const host = "10.0.0.1";

/** A connected node of a cluster. It serves all slots, or answers MOVED with the node that does. */
class FakeNode extends EventEmitter {
  readonly status = "ready";
  readonly options: { readonly host: string; readonly port: number };
  readonly stream = Object.assign(new EventEmitter(), { writable: true, cork: () => {}, uncork: () => {} });
  readonly #servedBy: number;

  constructor(port: number, servedBy: number) {
    super();
    this.options = { host, port };
    this.#servedBy = servedBy;
  }

  async call(name: string, about: string): Promise<unknown> {
    if (name === "info") return `run_id:${this.options.port}\r\nrole:master\r\nredis_mode:cluster\r\n`;
    if (name === "cluster") return "cluster_state:ok";
    if (name === "pubsub" || about.includes("acl_check_cmd")) return [];
    if (this.options.port === this.#servedBy) return 1;
    throw Object.assign(new Error(`MOVED 1 ${host}:${this.#servedBy}`), { name: "ReplyError" });
  }
}

const [oldNode, newNode] = [1, 2].map((port) => new FakeNode(port, 2)) as [FakeNode, FakeNode];

interface ClusterMap {
  readonly master: FakeNode;
  readonly masters: readonly FakeNode[];
}

/** A cluster client of ioredis. As there, `refresh` is emitted while the client still counts as reading the map of the slots. */
class FakeCluster extends EventEmitter {
  readonly status = "ready";
  readonly options = {};
  slots: string[][] = [];
  readings = 0;
  #reading = false;
  #masters: readonly FakeNode[] = [];
  readonly #runtime: SimulatedRuntime;
  readonly #maps: readonly ClusterMap[];

  /** `maps`: what the nodes answer, one map for each reading. The last map answers all further readings. */
  constructor(runtime: SimulatedRuntime, ...maps: readonly ClusterMap[]) {
    super();
    this.#runtime = runtime;
    this.#maps = maps;
    this.#read();
  }

  nodes(): readonly FakeNode[] {
    return this.#masters;
  }

  call(): void {}
  pipeline(): void {}
  duplicate(): void {}
  connect(): void {}

  async refreshSlotsCache(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    await new Promise<void>((resolve) => this.#runtime.setTimer(1, resolve));
    this.#read();
    this.emit("refresh");
    this.#reading = false;
  }

  #read(): void {
    const { master, masters } = this.#maps[Math.min(this.readings++, this.#maps.length - 1)] as ClusterMap;
    this.#masters = masters;
    this.slots = Array.from({ length: 16_384 }, () => [`${host}:${master.options.port}`]);
  }
}

const both = [oldNode, newNode];

test.each<[string, readonly FakeNode[]]>([
  ["is in the map", both],
  ["is new", [oldNode]],
])(
  "after MOVED to a node that %s, the map is read until one of the nodes that are asked has the move",
  async (_what, masters) => {
    const before = { master: oldNode, masters };
    const runtime = simulatedRuntime(1);
    const running = runtime.autoAdvance();
    onTestFinished(() => running[Symbol.dispose]());
    const cluster = new FakeCluster(runtime, before, before, before, { master: newNode, masters: both });
    const { line } = openLine({ client: cluster as unknown as Cluster }, { runtime });
    await line.whenConnected();
    expect(await line.run(increment, ["orders"], [])).toMatchObject({ reply: 1, runId: "2" });
    expect(line.masterOf("orders")).toBe("2");
    expect(cluster.readings).toBe(4);
  },
);
