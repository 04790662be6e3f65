import { NotHeldError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { WriteHandle } from "../api/read-write-lock.js";
import { claimBeside } from "../grants/claim.js";
import { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { checkSignalAlone } from "../options/checks.js";

/** A held write, which can be turned into a read. */
export class WriteLockHandle extends Handle implements WriteHandle {
  readonly #options: ResolvedAcquireOptions;
  #downgrading = false;

  constructor(hold: Hold, options: ResolvedAcquireOptions) {
    super(hold, options);
    this.#options = options;
  }

  async downgrade(options: { signal?: AbortSignal } = {}): Promise<LockHandle> {
    checkSignalAlone("downgrade", options);
    const { signal } = options;
    signal?.throwIfAborted();
    if (this.state === "lost" || this.state === "released") this.assertHeld();
    if (this.#downgrading) throw this.#notHeld("is being downgraded by another call");
    this.#downgrading = true;
    try {
      const write = Handle.holdOf(this);
      const { kind, name, owner } = write;
      const options = { ...this.#options, waitMs: Infinity, signal };
      const read = await claimBeside(write, {
        ...{ kind, name, mode: "shared", permits: 1, owner, options, throws: true },
        handleFrom: (hold) => {
          write.handStayOn(hold);
          return new Handle(hold, { ...this.#options, holdAtLeastMs: 0 });
        },
      });
      if (read === null) throw this.#notHeld("was released while it was being downgraded");
      await this.#letGo(signal);
      return read;
    } finally {
      this.#downgrading = false;
    }
  }

  protected override get shownAs(): string {
    return "WriteHandle";
  }

  /** Releases the write. The read is held by now and stays, however this release ends; events report how it ends. */
  async #letGo(signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.release(signal === undefined ? {} : { signal });
    } catch {
      // The event `release-failed` reports it.
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
