import {
  eventually,
  startEnsemble,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import type { ServerAddresses } from "../../workload/addresses.js";
import type { Topology } from "../scenario.js";
import { proxiedLink, unproxiedLink } from "./links.js";
import { Placement, rememberPlacement } from "./placement.js";
import type { Observer, Server, ServerLog, ServerSet, WorkerLink } from "./server-set.js";
import { observeZooKeeper } from "./zookeeper-observer.js";

type ZooKeeperTopology = Extract<Topology, { kind: "zookeeper" }>;

/** With a shorter tick, ensembles fall apart on busy machines. */
const tickTimeMs = 500;

/**
 * Room for the log of a scenario. The log grows by 4 KiB at a time, so the next write notices that the disk is full.
 */
const diskBytes = 8 * 1_024 * 1_024;

/** Starts one server, or an ensemble of three, on 127.0.0.1 or each at an address of its own. */
export async function startZooKeeperSet(topology: Topology): Promise<ServerSet> {
  if (topology.kind !== "zookeeper") throw new Error(`no ZooKeeper: ${topology.kind}`);
  const { members, namespaces, shims, smallDisk } = topology;
  const wishes = { namespaces, shims, diskBytes: smallDisk === true ? diskBytes : undefined };
  const placement = await Placement.open(wishes, members);
  try {
    const whole = await startWhole(topology, placement);
    const [first] = whole.nodes;
    const version = first === undefined ? "unknown" : await versionOf(first);
    const set = new ZooKeeperSet(topology, whole.nodes, version, {
      heal: () => placement.heal(),
      ready: whole.ready,
      stop: async () => {
        await whole.stop();
        await placement.close();
      },
    });
    rememberPlacement(set, placement);
    return set;
  } catch (error) {
    await placement.close();
    throw error;
  }
}

async function startWhole(
  { members, syncLimit, shims, smallDisk }: ZooKeeperTopology,
  { places, disks }: Placement,
): Promise<{ nodes: readonly ZooKeeperNode[]; ready(): Promise<void>; stop(): Promise<void> }> {
  const options = {
    tickTimeMs,
    // A JVM starts in half a second, but three of them beside other work have taken 30 seconds.
    startWithinMs: 120_000,
    // Without this setting the server never flushes, so there is nothing to make slow.
    forceSync: shims === true,
    ...(smallDisk === true && { javaOptions: ["-Dzookeeper.preAllocSize=4"] }),
  };
  if (members === 1) {
    const [place] = places ?? [];
    const [disk] = disks;
    const node = await startZooKeeper({
      ...options,
      ...(place && { place }),
      ...(disk && { config: { dataLogDir: disk.path } }),
    });
    return { nodes: [node], ready: async () => void (await node.ready()), stop: () => node.stop() };
  }
  if (disks.length > 0) throw new Error("members of an ensemble have no small disks");
  const ensemble = await startEnsemble({
    ...options,
    nodes: members,
    ...(places && { places }),
    ...(syncLimit !== undefined && { syncLimit }),
  });
  return { nodes: ensemble.nodes, ready: () => ensemble.ready(), stop: () => ensemble.stop() };
}

async function versionOf(node: ZooKeeperNode): Promise<string> {
  return /^Zookeeper version: ([^\s,]+)/.exec(await node.fourLetter("srvr"))?.[1] ?? "unknown";
}

interface Whole {
  /** Takes back what faults did to anything other than processes. */
  heal(): Promise<void>;
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** The ZooKeeper servers of a scenario. */
export class ZooKeeperSet implements ServerSet {
  readonly topology: ZooKeeperTopology;
  readonly versions: Readonly<Record<string, string>>;
  readonly addresses: Extract<ServerAddresses, { kind: "zookeeper" }>;
  readonly nodes: readonly ZooKeeperNode[];
  readonly servers: readonly Server[];
  readonly #whole: Whole;

  constructor(topology: ZooKeeperTopology, nodes: readonly ZooKeeperNode[], version: string, whole: Whole) {
    this.topology = topology;
    this.nodes = nodes;
    this.versions = { zookeeper: version };
    this.addresses = { kind: "zookeeper", connect: nodes.map((node) => node.connectString).join(",") };
    this.servers = nodes.map(serverOf);
    this.#whole = whole;
  }

  async link(_worker: string, proxied: boolean): Promise<WorkerLink> {
    if (!proxied) return unproxiedLink(this.addresses);
    const proxies = await Promise.all(
      this.nodes.map((node) => startZooKeeperProxy({ target: node.connectString })),
    );
    const connect = proxies.map(({ connectString }) => connectString).join(",");
    return proxiedLink({ kind: "zookeeper", connect }, proxies);
  }

  observer(): Promise<Observer> {
    return observeZooKeeper(this.addresses.connect);
  }

  async heal(): Promise<void> {
    await this.#whole.heal();
    for (const node of this.nodes) {
      if (node.running) node.resume();
      else await node.spawn();
    }
    await this.#whole.ready();
  }

  logs(): readonly ServerLog[] {
    return this.nodes.map((node) => ({ name: nameOf(node), path: node.logFile }));
  }

  async close(): Promise<void> {
    await this.#whole.stop();
  }
}

const nameOf = (node: ZooKeeperNode): string => `zk${Math.max(1, node.id)}`;

function serverOf(node: ZooKeeperNode): Server {
  return {
    name: nameOf(node),
    get running() {
      return node.running;
    },
    role: async () => (await node.mode()) ?? null,
    kill: () => node.kill(),
    pause: () => node.pause(),
    resume: () => node.resume(),
    // A running server does not serve yet: it may have to find its leader.
    restart: async () => {
      await node.restart();
      await eventually(() => node.mode(), { what: `${nameOf(node)} to serve again`, withinMs: 30_000 });
    },
    evidence: () => ({ port: node.port, ...(node.running ? { pid: node.pid } : { gone: 1 }) }),
  };
}
