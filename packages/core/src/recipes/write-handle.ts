import { NotHeldError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { WriteHandle } from "../api/read-write-lock.js";
import { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { checkSignal } from "../options/checks.js";
import { readBeside } from "./read-beside.js";

/** A held write, which may become a read. */
export class WriteLockHandle extends Handle implements WriteHandle {
  readonly #options: ResolvedAcquireOptions;
  #downgrading = false;

  constructor(hold: Hold, options: ResolvedAcquireOptions) {
    super(hold, options);
    this.#options = options;
  }

  async downgrade(options: { signal?: AbortSignal } = {}): Promise<LockHandle> {
    const { signal } = options;
    checkSignal("downgrade: signal", signal);
    signal?.throwIfAborted();
    if (this.state === "lost" || this.state === "released") this.assertHeld();
    if (this.#downgrading) throw this.#notHeld("is being downgraded by another call");
    this.#downgrading = true;
    try {
      const read = await readBeside(
        Handle.holdOf(this),
        { ...this.#options, waitMs: Infinity },
        { deadlineMs: Infinity, signal },
      );
      if (typeof read === "string") throw this.#notHeld("was released while it was being downgraded");
      Handle.holdOf(this).handKeepingOn(read);
      const handle = new Handle(read, { ...this.#options, holdAtLeastMs: 0 });
      await this.#letGo(signal);
      return handle;
    } finally {
      this.#downgrading = false;
    }
  }

  /** The read is there: whatever becomes of this release, it is told by events and takes nothing from the read. */
  async #letGo(signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.release(signal === undefined ? {} : { signal });
    } catch {
      // Told by `release-failed`.
    }
  }

  #notHeld(why: string): NotHeldError {
    const { engine } = Handle.holdOf(this);
    return new NotHeldError(`the write lock "${this.name}" ${why}`, {
      lockName: this.name,
      backend: engine.backend,
    });
  }
}
