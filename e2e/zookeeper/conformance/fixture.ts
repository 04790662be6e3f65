import type { Fixture } from "@holdfast/conformance";
import type { LockHandle, LockProvider, Owner, ProviderOptions } from "@holdfast/core";
import { expireSession, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { encodeSegment } from "@holdfast/zk-recipes/internal";
import type { Curator, Take } from "./curator.js";

/** Short, because several cases wait for the end of a session, or block the event loop for as long. */
const sessionTimeoutMs = 2_000;

export interface FixtureParts {
  /** Curator beside our clients, and how it takes the lock or leadership of the suite. */
  readonly foreign?: { readonly curator: Curator; readonly take: Take };
  /** The lock's waiters have no nodes, so the traces of the links are used to count them. */
  readonly waitersHidden?: boolean;
  /** The options of each provider beside its connection. */
  readonly options?: ProviderOptions;
  /** Changes each provider before it is used. */
  readonly adapt?: (provider: ZooKeeperLocks) => void;
}

/** One provider with its own link, which a case can cut. */
interface Client {
  readonly provider: ZooKeeperLocks;
  readonly link: ZooKeeperProxy;
  readonly asking: ReadonlyMap<Owner, Asking>;
}

interface Asking {
  readonly name: string;
  readonly sinceMs: number;
}

/** The links show the ids and passwords of the sessions; `loseHold` ends a session with them. */
export async function linkedFixture(connectString: string, parts: FixtureParts = {}): Promise<Fixture> {
  const { foreign, waitersHidden = false, adapt, options } = parts;
  const clients: Client[] = [];
  const peer = await foreign?.curator.connect(connectString);
  return {
    async provider(): Promise<LockProvider> {
      const link = await startZooKeeperProxy({ target: connectString });
      const provider = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs, ...options });
      adapt?.(provider);
      clients.push({ provider, link, asking: followAsking(provider) });
      return provider;
    },
    async loseHold(handle: LockHandle) {
      const holder = clients.find(({ provider }) =>
        provider.holds().some((held) => held.owner === handle.owner),
      );
      const session = holder?.link.sessions.at(-1);
      if (session === undefined) throw new Error(`nobody here holds ${handle.name}`);
      await expireSession({ connectString, ...session });
    },
    // Sleeps, because a busy loop would take a core from the tests that run beside this one.
    blockLoop(forMs) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
    },
    async partition(provider) {
      const { link } = clients.find((client) => client.provider === provider) as Client;
      await link.setMode("reset");
      return {
        [Symbol.dispose]: () => {
          void link.setMode("ok");
        },
      };
    },
    async loseAnswer(provider) {
      const { link } = clients.find((client) => client.provider === provider) as Client;
      await link.dropReply({ op: "create2" }).hit();
    },
    ...(waitersHidden && {
      waiting: (name: string) => clients.reduce((sum, each) => sum + waiting(each, name), 0),
    }),
    ...(peer !== undefined &&
      foreign !== undefined && {
        foreign: { acquire: (name: string) => foreign.take(peer, pathOf(name)) },
      }),
    async close() {
      await peer?.close();
      for (const { link } of clients) await link.close();
    },
  };
}

function pathOf(name: string): string {
  return `/holdfast/${encodeSegment(name)}`;
}

/** The owners whose acquire is not settled, each with the lock's name and the start time by the clock of the links. */
function followAsking({ events }: LockProvider): ReadonlyMap<Owner, Asking> {
  const asking = new Map<Owner, Asking>();
  events.on("acquire-started", ({ name, owner }) => {
    asking.set(owner, { name, sinceMs: performance.now() });
  });
  events.on("acquire-settled", ({ owner }) => {
    asking.delete(owner);
  });
  return asking;
}

/** Counts the calls that wait: those that set a watch on the lock's node after they began and after it was last deleted. */
function waiting({ link, asking }: Client, name: string): number {
  const path = pathOf(name);
  const { trace } = link;
  const since = [...asking.values()].filter((each) => each.name === name).map(({ sinceMs }) => sinceMs);
  const gone = trace.findLastIndex((entry) => entry.event === "deleted" && entry.path === path);
  const watches = trace
    .slice(gone + 1)
    .filter((entry) => entry.kind === "reply" && entry.op === "exists" && entry.err === 0)
    .filter((entry) => entry.path === path && entry.at > Math.min(...since));
  return Math.min(since.length, watches.length);
}
