import { abortable } from "../signals/abortable.js";
import type { Hold } from "./hold.js";

/** A round trip that proves the hold now. Ends at the first of: answer, loss, release, `signal`. */
export function confirmHold(hold: Hold, signal: AbortSignal | undefined): Promise<void> {
  return abortable(hold.engine, signal, () => renewedOrOver(hold), hold.name);
}

/** Also resolves at the loss and at the release: the handle that asked says which error fits. */
function renewedOrOver(hold: Hold): Promise<void> {
  return new Promise((resolve, reject) => {
    const changed = (): void => {
      const { state } = hold;
      if (state === "held" || state === "uncertain") unwatch = hold.watch(changed);
      else resolve();
    };
    let unwatch = hold.watch(changed);
    const answered = hold.renew().finally(() => unwatch());
    answered.then(() => resolve(), reject);
  });
}
