import type { Fixture } from "@holdfast/conformance";
import type { LockHandle, LockProvider } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { clientStateOf } from "@holdfast/redis-recipes/internal";
import {
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisCluster,
  startRedisProxy,
  startRedisReplicaSet,
} from "@holdfast/test-servers";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Servers of one topology. Each client reaches them through links of its own, so that one client alone can be cut off. */
export interface Servers {
  readonly nodes: readonly RedisNode[];
  masters(): Promise<readonly RedisNode[]>;
  masterOf(name: string): Promise<RedisNode>;
  /** `links`: for each address of a server, the address of the link in front of it. */
  target(links: Readonly<Record<string, Address>>): RedisLocksOptions;
  stop(): Promise<void>;
}

export async function single(): Promise<Servers> {
  const node = await startRedis();
  return {
    nodes: [node],
    masters: async () => [node],
    masterOf: async () => node,
    target: (links) => {
      const [link] = Object.values(links);
      return { url: `redis://${link?.host}:${link?.port}` };
    },
    stop: () => node.stop(),
  };
}

export async function sentinels(): Promise<Servers> {
  const set = await startRedisReplicaSet();
  return {
    nodes: set.nodes,
    masters: async () => [await set.master()],
    masterOf: () => set.master(),
    target: (natMap) => ({ sentinels: { sentinels: set.sentinelAddresses, name: set.name, natMap } }),
    stop: () => set.stop(),
  };
}

export async function cluster(): Promise<Servers> {
  const nodes = await startRedisCluster();
  return {
    nodes: nodes.nodes,
    async masters() {
      const roles = await Promise.all(nodes.nodes.map(async (node) => ({ node, role: await node.role() })));
      return roles.filter(({ role }) => role.role === "master").map(({ node }) => node);
    },
    masterOf: (name) => nodes.nodeOfSlot(nodes.slotOf(name)),
    target: (natMap) => ({ cluster: { nodes: Object.values(natMap), natMap } }),
    stop: () => nodes.stop(),
  };
}

type State = NonNullable<ReturnType<typeof clientStateOf>>;

/** What differs from one primitive to the next. */
export interface FixtureParts {
  /** How a hold is lost. Default: its key is deleted, without a message. */
  loseHold?(servers: Servers, handle: LockHandle, providers: readonly RedisLocks[]): Promise<void>;
  /** How many waiters of `provider` wait for `name`, for kinds whose waiters leave no trace at the server. */
  waiting?(state: State, name: string, provider: RedisLocks): number;
  readonly anonymous?: boolean;
  /** Options of each provider, in addition to those that all have. */
  readonly options?: Partial<RedisLocksOptions>;
  /** Changes each provider before it is used. */
  adapt?(provider: RedisLocks): void;
}

interface Client {
  readonly provider: RedisLocks;
  readonly links: readonly RedisProxy[];
}

export async function fixtureOn(servers: Servers, parts: FixtureParts = {}): Promise<Fixture> {
  const clients: Client[] = [];
  const { waiting } = parts;
  return {
    anonymous: parts.anonymous === true,
    async provider(): Promise<LockProvider> {
      const { nodes } = servers;
      const links = await Promise.all(
        nodes.map(({ host, port }) => startRedisProxy({ target: { host, port } })),
      );
      const natMap = Object.fromEntries(
        nodes.map(({ host, port }, index) => {
          const link = links[index] as RedisProxy;
          return [`${host}:${port}`, { host: link.host, port: link.port }];
        }),
      );
      const provider = redisLocks({
        ...servers.target(natMap),
        leaseMs: 3_000,
        heartbeatMs: 200,
        ...parts.options,
      });
      parts.adapt?.(provider);
      clients.push({ provider, links });
      return provider;
    },
    async loseHold(handle) {
      const providers = clients.map(({ provider }) => provider);
      if (parts.loseHold !== undefined) await parts.loseHold(servers, handle, providers);
      else await (await servers.masterOf(handle.name)).command("DEL", handle.name);
    },
    async partition(provider) {
      const links = clients.find((client) => client.provider === provider)?.links ?? [];
      await Promise.all(links.map((link) => link.setMode("reset")));
      return {
        [Symbol.dispose]: () => {
          for (const link of links) void link.setMode("ok");
        },
      };
    },
    async loseAnswer(provider) {
      const links = clients.find((client) => client.provider === provider)?.links ?? [];
      await Promise.any(links.map((link) => link.dropReply({ name: ["EVAL", "EVALSHA"] }).hit()));
    },
    ...(waiting && {
      waiting: (name: string) =>
        clients.reduce(
          (sum, { provider }) => sum + waiting(clientStateOf(provider) as State, name, provider),
          0,
        ),
    }),
    async close() {
      await Promise.all(clients.flatMap(({ links }) => links.map((link) => link.close())));
    },
  };
}
