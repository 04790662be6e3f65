import { addressText } from "@holdfast/core/internal";
import {
  clientOptions,
  clusterOptions,
  commandSettings,
  type RedisTarget,
  targetOf as targetOfOptions,
} from "@holdfast/redis-recipes/internal";
import { Cluster, Redis } from "ioredis";
import type { Address, AttackedServers } from "../workload/addresses.js";
import { redisOptions } from "../workload/attacked.js";

/** How long the attack tries to reach a server: the longest time that a worker tries, too. */
export const reachWithinMs = 30_000;

/** A target that is given by addresses, and not by a client of the user's own. */
type Target = Extract<RedisTarget, { readonly access: unknown }>;

export const targetOf = (servers: Extract<AttackedServers, { readonly backend: "redis" }>): Target =>
  targetOfOptions(redisOptions(servers)) as Target;

/** Does `work` at each server that may have keys, over a connection that is closed afterwards. */
export async function onMasters(
  target: Target,
  work: (master: Redis) => Promise<readonly string[]>,
): Promise<string[]> {
  return await connected(
    () =>
      target.kind === "cluster"
        ? new Cluster(copies(target.nodes), clusterOptions(target))
        : new Redis(clientOptions(target)),
    async (client) => {
      const masters = client instanceof Cluster ? client.nodes("master") : [client];
      return (await Promise.all(masters.map(work))).flat();
    },
  );
}

/** Every server to which Sentinels or cluster nodes may send a client, under the host and port that they announce. */
export async function addressesOf(target: Target): Promise<Address[]> {
  switch (target.kind) {
    case "single":
      return [target.address];
    case "sentinel":
      return eachOnce([...target.sentinels, ...(await toldBySentinels(target))]);
    case "cluster":
      return eachOnce([...target.nodes, ...(await toldByNodes(target))]);
  }
}

const eachOnce = (addresses: readonly Address[]): Address[] => [
  ...new Map(addresses.map((address) => [addressText(address), address])).values(),
];

type Of<K extends Target["kind"]> = Extract<Target, { readonly kind: K }>;

const toldByNodes = (target: Of<"cluster">): Promise<Address[]> =>
  connected(
    () => new Cluster(copies(target.nodes), clusterOptions(target)),
    async (cluster) => cluster.nodes("all").map(({ options: { host = "", port = 0 } }) => ({ host, port })),
  );

/** Asks the first sentinel that answers for the other sentinels, the master and its replicas. */
async function toldBySentinels({
  sentinels,
  masterName,
  sentinelAccess,
}: Of<"sentinel">): Promise<Address[]> {
  const access = Object.fromEntries(
    Object.entries(sentinelAccess).filter(([, value]) => value !== undefined),
  );
  return await Promise.any(
    sentinels.map((address) =>
      connected(
        () => new Redis({ ...commandSettings(), ...access, ...address, protocol: 2 }),
        async (sentinel) => {
          const lists = await Promise.all(
            ["MASTER", "REPLICAS", "SENTINELS"].map((what) => sentinel.call("SENTINEL", what, masterName)),
          );
          const [master, ...others] = lists as [string[], string[][], string[][]];
          return [master, ...others.flat()].map(addressIn);
        },
      ),
    ),
  );
}

/** The address in a row that lists names and values in turn. */
function addressIn(row: readonly string[]): Address {
  const value = (name: string): string =>
    row[row.findIndex((each, at) => at % 2 === 0 && each === name) + 1] ?? "";
  return { host: value("ip"), port: Number(value("port")) };
}

/** @throws the client's last error, if it gets no connection within the limit */
async function connected<C extends Redis | Cluster, T>(
  open: () => C,
  work: (client: C) => Promise<T>,
): Promise<T> {
  const client = open();
  let heard = new Error(`no answer within ${reachWithinMs / 1_000} s`);
  client.on("error", (error: Error) => {
    heard = error;
  });
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(heard), reachWithinMs);
      client.once("ready", () => {
        clearTimeout(timer);
        resolve();
      });
      // The client retries by itself. Its last error is reported when the limit is over.
      client.connect().catch((error: Error) => {
        heard = error;
      });
    });
    return await work(client);
  } finally {
    client.disconnect();
  }
}

const copies = (addresses: readonly Address[]): Address[] => addresses.map((each) => ({ ...each }));
