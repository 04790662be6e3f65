import type { GrantEngine } from "../grants/engine.js";

/**
 * Makes a call at the backend. It is refused once the provider is closed. It rejects only with errors of ours, or with
 * the reason of `signal`.
 */
export async function backendCall<T>(
  engine: GrantEngine,
  name: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (engine.closed) throw engine.closedError(name);
  try {
    return await work();
  } catch (error) {
    // The caller's own reason is passed on as it is.
    if (signal?.aborted === true && error === signal.reason) throw error;
    throw engine.typed(error, name);
  }
}
