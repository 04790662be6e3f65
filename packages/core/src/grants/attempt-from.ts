import type { Attempt, AttemptListener, Grant, GrantState } from "../api/driver.js";

/**
 * Makes an attempt from one promise of a backend: `null` means unavailable, a rejection means failed. A grant that comes
 * after the withdrawal is released.
 *
 * `entered`: called with the grant and core's side of it.
 */
export function attemptFrom<G extends Grant>(
  asked: Promise<G | null>,
  listener: AttemptListener,
  entered: (grant: G, state: GrantState) => void,
): Attempt {
  let withdrawn = false;
  asked.then(
    (grant) => {
      if (withdrawn) return;
      if (grant === null) listener.unavailable();
      else entered(grant, listener.granted([grant])[0]);
    },
    (error) => {
      if (!withdrawn) listener.failed(error);
    },
  );
  return {
    async withdraw() {
      withdrawn = true;
      // After an error there is nothing to give back: the listener has had it, or the request was withdrawn before.
      const grant = await asked.catch(() => null);
      await grant?.release();
    },
  };
}
