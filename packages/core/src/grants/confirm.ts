import type { Hold } from "./hold.js";

/**
 * Proves the hold by a round trip now. It also resolves when the hold is lost or released; the handle that asked
 * then chooses the error.
 */
export function renewedOrOver(hold: Hold): Promise<void> {
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
