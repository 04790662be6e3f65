import type { Chance } from "./chance.js";
import { calm, type Weather } from "./simulated-line.js";

/** Refusals that change nothing at the server, which serves a later request. */
export const passingRefusals = [
  "NOREPLICAS Not enough good replicas to write.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
  "BUSY Redis is busy running a script.",
  "LOADING Redis is loading the dataset in memory",
  "CLUSTERDOWN The cluster is down",
  "MOVED 3999 127.0.0.1:6381",
  "TRYAGAIN Multiple keys request during rehashing of slot",
  "READONLY You can't write against a read only replica.",
] as const;

/** Nothing is lost, and nothing is delayed for long. */
export function fairWeather(chance: Chance): Weather {
  return { ...calm, delayMs: () => chance.below(20) };
}

/**
 * Requests and replies of one connection keep their order, as in TCP, except those whose script the server had forgotten. On a
 * broken connection requests may arrive long after. Messages come on another connection, late or never. They may also come
 * twice, as while two subscriptions of one client stand, which happens after a reconnect in a cluster.
 */
export function badWeather(chance: Chance): Omit<Weather, "refuses"> {
  return {
    delayMs: () => (chance.of(0.03) ? chance.below(2_500) : chance.below(30)),
    strayMs: () => (chance.of(0.5) ? chance.below(4_000) : null),
    reorders: () => chance.of(0.02),
    message: () => {
      if (chance.of(0.15)) return [];
      const first = chance.of(0.1) ? chance.below(6_000) : chance.below(30);
      return chance.of(0.1) ? [first, first + chance.below(6_000)] : [first];
    },
  };
}

/**
 * A share of all requests is refused once or three times in a row, and served after that. The row is counted for each script,
 * because renewals and heartbeats of one client travel between each other.
 */
export function refusing(
  chance: Chance,
  share: number,
  refused: (script: string) => void,
): Weather["refuses"] {
  const left = new Map<string, number>();
  return (script) => {
    const more = left.get(script);
    if (more === undefined && !chance.of(share)) return null;
    const times = more ?? chance.one([1, 1, 3]);
    if (times === 0) {
      left.delete(script);
      return null;
    }
    left.set(script, times - 1);
    refused(script);
    return chance.one(passingRefusals);
  };
}
