/**
 * Something about a test server did not happen: it did not start, answer or end within its limit. The message says what
 * was waited for, and includes the end of the server's log if there is one.
 */
export class TestServerError extends Error {
  /** The name of this class. */
  override readonly name: string = "TestServerError";
}

/** Names what a server needs and this machine lacks, and the commands that would install it. */
export class NotInstalledError extends TestServerError {
  /** The name of this class. */
  override readonly name: string = "NotInstalledError";
}

/** A ZooKeeper does not know the session that was to be ended: it is over, or the password is another one. */
export class UnknownSessionError extends TestServerError {
  /** The name of this class. */
  override readonly name: string = "UnknownSessionError";
}

/** Why a four-letter word had no answer. A stopped process times out; a dead one refuses. */
export type UnreachableReason = "refused" | "timeout" | "closed";

/** A server did not answer a four-letter word. `reason` distinguishes a dead process from a stopped one. */
export class UnreachableError extends TestServerError {
  /** The name of this class. */
  override readonly name: string = "UnreachableError";
  /** Why there was no answer. */
  readonly reason: UnreachableReason;

  constructor(message: string, reason: UnreachableReason, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
