import { EventEmitter } from "node:events";
import { simulatedRuntime } from "@holdfast/core/testing";
import type { Cluster, Redis } from "ioredis";
import { expect, onTestFinished, test, vi } from "vitest";
import { ClusterTopology } from "../../src/client/cluster-topology.js";
import { defaultTimes } from "../../src/client/settings.js";
import type { TopologyEvents } from "../../src/client/topology.js";

function topologyOf(client: EventEmitter, acks = 0): ClusterTopology {
  return new ClusterTopology(
    { kind: "given-cluster", client: client as unknown as Cluster },
    {
      runtime: simulatedRuntime(1),
      policy: { replicas: acks, acks, waitTimeoutMs: 1_000 },
      times: defaultTimes,
      holding: () => false,
    },
    { changed: () => {} } as TopologyEvents,
  );
}

/** A client of one node that does nothing. */
class IdleNode extends EventEmitter {
  readonly status: string;
  readonly options: { readonly host: string; readonly port: number };

  constructor(port: number, status = "connecting") {
    super();
    this.options = { host: "10.0.0.1", port };
    this.status = status;
  }

  duplicate(): IdleNode {
    return new IdleNode(this.options.port, "end");
  }
}

test("a function for natMap that throws finds no node, and is the cause of that", () => {
  const cause = new Error("no such host");
  const natMap = (): never => {
    throw cause;
  };
  const about = { status: "connecting", options: { natMap }, nodes: () => [] };
  const topology = topologyOf(Object.assign(new EventEmitter(), about));
  expect(topology.redirect({ host: "10.0.0.1", port: 6379 }, "moved")).toBeNull();
  expect(topology.lastCause).toBe(cause);
});

test("nothing is kept of nodes that were replaced and whose connections are closed", async () => {
  let nodes: readonly IdleNode[] = [];
  const client = Object.assign(new EventEmitter(), {
    status: "connecting",
    options: {},
    slots: [],
    nodes: () => nodes,
  });
  const topology = topologyOf(client, 1);
  for (let port = 1; port <= 10; port++) {
    nodes = [new IdleNode(port)];
    client.emit("refresh");
    await Promise.resolve();
  }
  const all = vi.spyOn(Promise, "all");
  onTestFinished(() => void all.mockRestore());
  await topology.close();
  const [closing] = all.mock.calls[0] as unknown as [Iterable<unknown>];
  expect([...closing].length).toBeLessThanOrEqual(1);
});

test("what is published reaches a server as long as the map of the slots has it, and where there is no map", () => {
  const [one, other] = [6379, 6380].map((port) => ({ options: { host: "10.0.0.1", port } }));
  let nodes = [one, other];
  const client = Object.assign(new EventEmitter(), {
    status: "connecting",
    options: {},
    slots: [],
    nodes: () => nodes,
  });
  const topology = topologyOf(client);
  // A connection for messages is another client object with the same address.
  const ears = { options: { ...one?.options } } as unknown as Redis;
  expect(topology.hears(ears)).toBe(true);
  nodes = [other];
  expect(topology.hears(ears)).toBe(false);
  nodes = [];
  expect(topology.hears(ears)).toBe(true);
});
