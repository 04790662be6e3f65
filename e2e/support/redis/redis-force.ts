import { viewPartsOf } from "@holdfast/core/internal";
import type { RedisNode } from "@holdfast/test-servers";

interface Forcing {
  force(kind: string, name: string): Promise<boolean>;
}

/** What an operator's tool of ours does: frees a lock under its holder. `false` when nobody held it. */
export function forceOpen(view: { readonly name: string }): Promise<boolean> {
  const parts = viewPartsOf(view);
  if (parts === undefined) throw new Error("not a lock of ours");
  return (parts.engine.driver as unknown as Forcing).force(parts.kind, view.name);
}

/** What `RLock.forceUnlock()` and `delete()` leave: no key, and the word that it is free. */
export async function forceOpenAsJava(node: RedisNode, name: string): Promise<void> {
  await node.command("DEL", name);
  await node.command("PUBLISH", `redisson_lock__channel:{${name}}`, "0");
}
