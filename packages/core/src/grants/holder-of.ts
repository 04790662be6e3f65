import type { PrimitiveKind } from "../api/capabilities.js";
import type { Millis } from "../api/values.js";
import { settledWithin } from "../signals/settled-within.js";
import type { GrantBooks, HoldRecord } from "./hold-record.js";

/** How long the backend may take to answer who holds the lock. */
const askingMs: Millis = 1_000;

/**
 * Describes the holder of a lock that a caller waits for. `own`: this provider's own hold; the backend is then
 * not asked. Never rejects.
 */
export async function holderOf(
  engine: GrantBooks,
  { kind, name }: { readonly kind: PrimitiveKind; readonly name: string },
  own: HoldRecord | undefined,
): Promise<string> {
  if (own !== undefined)
    return `this provider holds it itself (${Math.round(engine.runtime.nowMs() - own.grantedAtMs)} ms by now)`;
  let holder = "its holder is not known";
  const ask = async (): Promise<void> => {
    const { held } = await engine.driver.inspect(kind, name, { maxPending: 0 });
    const [first] = held;
    if (first !== undefined) holder = `held by ${first.label ?? first.backendId}`;
  };
  await settledWithin(engine.runtime, ask(), askingMs);
  return holder;
}
