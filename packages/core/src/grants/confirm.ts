import type { Hold } from "./hold.js";

/** A round trip that proves the hold now. Also resolves at the loss and at the release: the handle that asked says which error fits. */
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
