import { EventEmitter } from "node:events";
import { simulatedRuntime } from "@holdfast/core/testing";
import type { Cluster, Redis } from "ioredis";
import { expect, test } from "vitest";
import { ClusterTopology } from "../../src/client/cluster-topology.js";
import { defaultTimes } from "../../src/client/settings.js";
import type { TopologyEvents } from "../../src/client/topology.js";

test("what is published reaches a server as long as the map of the slots has it, and where there is no map", () => {
  const [one, other] = [6379, 6380].map((port) => ({ options: { host: "10.0.0.1", port } }));
  let nodes = [one, other];
  const client = Object.assign(new EventEmitter(), {
    status: "connecting",
    options: {},
    slots: [],
    nodes: () => nodes,
  });
  const topology = new ClusterTopology(
    { kind: "given-cluster", client: client as unknown as Cluster },
    {
      runtime: simulatedRuntime(1),
      policy: { replicas: 0, acks: 0, waitTimeoutMs: 1_000 },
      times: defaultTimes,
      holding: () => false,
    },
    {} as TopologyEvents,
  );
  // A connection for messages is another client with the same address.
  const ears = { options: { ...one?.options } } as unknown as Redis;
  expect(topology.hears(ears)).toBe(true);
  nodes = [other];
  expect(topology.hears(ears)).toBe(false);
  nodes = [];
  expect(topology.hears(ears)).toBe(true);
});
