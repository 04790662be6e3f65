import type { Hold } from "./hold.js";

/** A round trip that proves the hold now. Ends at the first of: answer, loss, release, `signal`. */
export function confirmHold(hold: Hold, signal: AbortSignal | undefined): Promise<void> {
  const { engine } = hold;
  return new Promise((resolve, reject) => {
    const end = (): void => {
      unwatch();
      if (signal !== undefined) engine.signals.remove(signal, aborted);
    };
    const aborted = (): void => {
      end();
      reject(signal?.reason);
    };
    const changed = (): void => {
      const { state } = hold;
      if (state === "held" || state === "uncertain") {
        unwatch = hold.watch(changed);
        return;
      }
      end();
      // The handle that asked says which error fits.
      resolve();
    };
    let unwatch = hold.watch(changed);
    if (signal !== undefined) engine.signals.add(signal, aborted);
    hold.renew().then(
      () => {
        end();
        resolve();
      },
      (error) => {
        end();
        reject(engine.typed(error, hold.name));
      },
    );
  });
}
