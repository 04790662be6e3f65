import { systemRuntime } from "@holdfast/core";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { onTestFinished } from "vitest";

/** A connected provider that is closed with the test. */
export async function connected(
  connect: string,
  options: ZooKeeperLocksOptions = {},
): Promise<ZooKeeperLocks> {
  const locks = zookeeperLocks({ connect, sessionTimeoutMs: 6_000, ...options });
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 500 });
  });
  await locks.ready();
  return locks;
}

/** A bare session for reading and changing what the server has. It is closed with the test. */
export async function operatorSession(connect: string): Promise<ZooKeeperSession> {
  const { servers } = parseConnectString(connect);
  const session = openSession({ servers, sessionTimeoutMs: 10_000, runtime: systemRuntime });
  onTestFinished(() => session.close());
  await session.whenConnected();
  return session;
}
