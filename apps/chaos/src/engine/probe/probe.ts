import type { Capability, Probe } from "../capability.js";
import { type Finding, lacks } from "./finding.js";
import { probeLimits, probeNamespaces, probeShims, probeSmallDisk } from "./machine.js";
import { probeCurator, probeJava, probeRedis, probeRedisson, probeZooKeeper } from "./servers.js";

/** The probes in the order in which they are shown. */
const probes: Readonly<Record<Capability, () => Promise<Finding>>> = {
  java: probeJava,
  zookeeper: probeZooKeeper,
  redis: probeRedis,
  // The same program, started in a different way.
  sentinel: probeRedis,
  curator: probeCurator,
  redisson: probeRedisson,
  namespaces: probeNamespaces,
  shims: probeShims,
  "small-disk": probeSmallDisk,
  limits: probeLimits,
};

export const capabilities: readonly Capability[] = Object.keys(probes) as Capability[];

export function isCapability(text: string): text is Capability {
  return (capabilities as readonly string[]).includes(text);
}

/**
 * Finds out what this machine offers by trying each thing once. Takes about a second, installs nothing and leaves
 * nothing behind.
 */
export function probe(only: readonly Capability[] = capabilities): Promise<Probe[]> {
  return Promise.all(
    only.map(async (capability) => {
      try {
        return { capability, ...(await probes[capability]()) };
      } catch (error) {
        // The probe itself failed. Whatever the reason, no scenario may rely on the capability.
        return { capability, ...lacks((error as Error).message, "see the message") };
      }
    }),
  );
}
