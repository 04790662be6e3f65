import { AcquireTimeoutError, BackendError, LockLostError, ProviderClosedError } from "@holdfast/core";

/** What a schedule may do to a call; anything else is a defect. */
export function passingError(error: unknown): boolean {
  return (
    error instanceof AcquireTimeoutError ||
    error instanceof BackendError ||
    error instanceof LockLostError ||
    error instanceof ProviderClosedError
  );
}
