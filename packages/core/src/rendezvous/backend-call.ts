import type { GrantEngine } from "../grants/engine.js";

/** A call at the backend: refused once the provider is closed, and never rejecting with an error that is not ours. */
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
    // The caller's own reason is handed back as it is.
    if (signal?.aborted === true && error === signal.reason) throw error;
    throw engine.typed(error, name);
  }
}
