import { AcquireTimeoutError, BackendError, LockLostError, ProviderClosedError } from "@holdfast/core";

/** Whether a schedule may cause this error of a call. Any other error is a defect. */
export function passingError(error: unknown): boolean {
  return (
    error instanceof AcquireTimeoutError ||
    error instanceof BackendError ||
    error instanceof LockLostError ||
    error instanceof ProviderClosedError
  );
}
