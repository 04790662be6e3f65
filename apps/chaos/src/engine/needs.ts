import type { Capability } from "./capability.js";
import type { Scenario, Topology } from "./scenario.js";

/** What a machine must offer for a scenario: the needs of its servers, and those that it names itself. */
export function needsOf({ topology, needs }: Pick<Scenario, "topology" | "needs">): Capability[] {
  return [...new Set([...topologyNeeds(topology), ...(needs ?? [])])];
}

function topologyNeeds(topology: Topology): Capability[] {
  const needs: Capability[] = [];
  if (topology.kind === "zookeeper") needs.push("java", "zookeeper");
  else if (topology.kind !== "none") needs.push("redis");
  if (topology.kind === "replicated" && topology.sentinels > 0) needs.push("sentinel");
  if ("namespaces" in topology && topology.namespaces === true) needs.push("namespaces");
  if ("shims" in topology && topology.shims === true) needs.push("shims");
  if ("smallDisk" in topology && topology.smallDisk === true) needs.push("small-disk");
  return needs;
}
