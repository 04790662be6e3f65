import { viewPartsOf } from "@holdfast/core/internal";
import type { RedisNode } from "@holdfast/test-servers";

interface Operating {
  force(kind: string, name: string): Promise<boolean>;
  requestRevoke(kind: string, name: string): Promise<boolean>;
}

/** Frees a lock under its holder, as an operator's tool of ours does. `false` when it was free. */
export function forceOpen(view: { readonly name: string }): Promise<boolean> {
  const { driver, kind } = operating(view);
  return driver.force(kind, view.name);
}

/**
 * Like `Mutex.requestRevoke()`, for every kind, since `LeaderElection` does not offer it. `false` when no holder could be
 * asked.
 */
export function askToLetGo(view: { readonly name: string }): Promise<boolean> {
  const { driver, kind } = operating(view);
  return driver.requestRevoke(kind, view.name);
}

function operating(view: object): { readonly driver: Operating; readonly kind: string } {
  const parts = viewPartsOf(view);
  if (parts === undefined) throw new Error("not a lock of ours");
  return { driver: parts.engine.driver as unknown as Operating, kind: parts.kind };
}

/** Leaves what `RLock.forceUnlock()` and `delete()` leave: no key, and the message that the lock is free. */
export async function forceOpenAsJava(node: RedisNode, name: string): Promise<void> {
  await node.command("DEL", name);
  await node.command("PUBLISH", `redisson_lock__channel:{${name}}`, "0");
}
