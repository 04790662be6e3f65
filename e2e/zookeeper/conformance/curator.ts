import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll } from "vitest";
import { type CuratorClient, type JavaPeer, startJavaPeer } from "../../support/curator/java-peer.js";

const withinMs = 20_000;

/** A JVM with Curator that runs during the tests of one file. */
export interface Curator {
  connect(connectString: string): Promise<CuratorClient>;
}

/** Takes the lock or the leadership at a path. */
export type Take = (client: CuratorClient, path: string) => Promise<{ release(): Promise<void> }>;

export function startCurator(): Curator {
  let peer: JavaPeer | undefined;
  beforeAll(async () => {
    peer = await startJavaPeer({ curator: "5.4.0" });
  }, 300_000);
  afterAll(() => peer?.close());
  return {
    connect(connectString) {
      if (peer === undefined) throw new Error("the JVM is not there");
      return peer.connect({ connect: connectString });
    },
  };
}

export const takeMutex: Take = async (client, path) => {
  const mutex = await client.mutex(path);
  granted((await mutex.acquire({ waitMs: withinMs })) !== null, path);
  return { release: () => mutex.release() };
};

export const takeSemaphoreMutex: Take = async (client, path) => {
  const mutex = await client.semaphoreMutex(path);
  granted(await mutex.acquire({ waitMs: withinMs }), path);
  return { release: () => mutex.release() };
};

export const takeWriteLock: Take = async (client, path) => {
  const lock = await client.readWriteLock(path);
  granted(await lock.acquire("write", { waitMs: withinMs }), path);
  return { release: () => lock.release("write") };
};

/** Takes the only permit of a semaphore. */
export const takePermit: Take = async (client, path) => {
  const semaphore = await client.semaphore(path, 1);
  const leases = await semaphore.acquireSeveral(1, { waitMs: withinMs });
  granted(leases !== null, path);
  return { release: () => semaphore.release(...(leases ?? [])) };
};

export const leadByLatch: Take = async (client, path) => {
  const latch = await client.leaderLatch(path, "curator");
  await latch.start();
  await eventually(() => latch.hasLeadership(), { withinMs, what: `Curator to lead ${path}` });
  return { release: () => latch.close() };
};

export const leadBySelector: Take = async (client, path) => {
  const selector = await client.leaderSelector(path, "curator");
  await selector.start();
  await eventually(() => selector.terms > 0, { withinMs, what: `Curator to lead ${path}` });
  return {
    release: async () => {
      await selector.resign();
      await selector.close();
    },
  };
};

function granted(was: boolean, path: string): void {
  if (!was) throw new Error(`Curator never got ${path}`);
}
