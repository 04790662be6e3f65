import { InvalidArgumentError, type LockHandle } from "@holdfast/core";

/** A lock handle as a resource sees it: every handle of every provider with tokens fits. */
export type FencedHandle = Pick<LockHandle, "name" | "token" | "turn" | "assertHeld">;

/** A writer: a handle, for the resource of the lock's name, or a handle for another resource. */
export type Writer = FencedHandle | ResourceWriter;

/** A handle that writes another resource than that of its lock's name. */
export interface ResourceWriter {
  /** The resource, by the name that its guard computes. */
  readonly resource: string;
  /** The handle of the lock that protects it. */
  readonly handle: FencedHandle;
}

/** Options that must be the same for all writers of one resource. */
export interface FenceOptions {
  /**
   * Counts the restores of the lock service. After a restore, its tokens may begin anew below those that resources have
   * seen. An epoch that is higher by one, in the configuration of all writers, makes every later token newer than all
   * earlier ones. A whole number, default 0.
   */
  epoch?: number;
}

/** A token, with the epoch that is compared before it and the turn that is compared after it. */
export interface Fence {
  /** The resource that is written, by the name that its guard computes. */
  readonly resource: string;
  /** See `FenceOptions.epoch`. */
  readonly epoch: number;
  /** The fencing token of the grant. */
  readonly token: bigint;
  /** The number of owners that had the lock under this token before, as `LockHandle.turn`. */
  readonly turn: number;
}

/**
 * The tokens of the handles, read now. Throws `LockLostError` and `NotHeldError` for a handle that no longer holds, and
 * `InvalidArgumentError`.
 */
export function fencesOf(writers: Writer | readonly Writer[], options: FenceOptions = {}): readonly Fence[] {
  const { epoch = 0 } = options;
  if (!Number.isSafeInteger(epoch) || epoch < 0)
    throw new InvalidArgumentError(`fence: epoch must be a whole number from 0; got ${String(epoch)}`);
  const all = Array.isArray(writers) ? (writers as readonly Writer[]) : [writers as Writer];
  if (all.length === 0)
    throw new InvalidArgumentError("fence: no lock was given, and a fence is made of its token");
  const fences = new Map<string, Fence>();
  for (const writer of all) {
    const [resource, handle] = "handle" in writer ? [writer.resource, writer.handle] : [writer.name, writer];
    handle.assertHeld();
    if (handle.token === null)
      throw new InvalidArgumentError(`fence: the lock "${handle.name}" has no token: its backend makes none`);
    const { token, turn } = handle;
    const known = fences.get(resource);
    // Of two handles for one resource the newer one counts, for example of two handles of one re-entrant hold.
    if (known !== undefined && (known.token > token || (known.token === token && known.turn >= turn)))
      continue;
    fences.set(resource, { resource, epoch, token, turn });
  }
  return [...fences.values()];
}
