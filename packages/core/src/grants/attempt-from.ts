import type { Attempt, AttemptListener, Grant, GrantState } from "../api/driver.js";

/**
 * An attempt of a backend that has one promise for it: `null` is unavailable, a rejection is a failure. A grant that comes after the
 * withdrawal is released.
 *
 * `entered`: gets core's side of the grant.
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
      // The listener has had the error, or the request was withdrawn before: then there is nothing to give back.
      const grant = await asked.catch(() => null);
      await grant?.release();
    },
  };
}
