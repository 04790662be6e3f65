import type { PrimitiveKind } from "../api/capabilities.js";
import type { Millis } from "../api/values.js";
import { within } from "../signals/within.js";
import type { GrantBooks, HoldRecord } from "./hold-record.js";

/** How long the backend may take to say who holds the lock. */
const askingMs: Millis = 1_000;

/** Who holds a lock that is waited for, in words. `own`: this provider's hold, which needs no question. Never rejects. */
export async function holderOf(
  engine: GrantBooks,
  { kind, name }: { readonly kind: PrimitiveKind; readonly name: string },
  own: HoldRecord | undefined,
): Promise<string> {
  if (own !== undefined)
    return `this provider holds it itself (${Math.round(engine.runtime.nowMs() - own.grantedAtMs)} ms by now)`;
  // A driver that throws instead of rejecting is treated alike.
  const asked = new Promise<string>((resolve, reject) => {
    engine.driver.inspect(kind, name, { maxPending: 0 }).then(({ held }) => {
      const [first] = held;
      resolve(first === undefined ? "its holder is not known" : `held by ${first.label ?? first.backendId}`);
    }, reject);
  });
  const { value } = await within(engine, asked, askingMs);
  return value ?? "its holder is not known";
}
