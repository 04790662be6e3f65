import type { PrimitiveKind } from "../api/capabilities.js";
import { AcquireTimeoutError, DeadlockError } from "../api/errors.js";
import type { ReentrantAcquirable } from "../api/mutex.js";
import type { ReentrantReadWriteLock } from "../api/read-write-lock.js";
import type { LockMode } from "../api/values.js";
import { claimBeside } from "../grants/claim.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { type ReentrantAsk, ReentrantView } from "./reentrant-view.js";
import { View } from "./view.js";

/** Many readers or one writer, over any driver. Its owner may take each side again, and each side is counted by itself. */
export class ReentrantReadWriteLockView extends View implements ReentrantReadWriteLock {
  readonly read: ReentrantAcquirable;
  readonly write: ReentrantAcquirable;

  constructor(engine: GrantEngine, kind: PrimitiveKind, name: string, defaults: ResolvedAcquireOptions) {
    super(engine, kind, name, defaults);
    this.read = new ReadSide(engine, kind, name, defaults);
    this.write = new WriteSide(engine, kind, name, defaults);
  }
}

class ReadSide extends ReentrantView {
  protected readonly mode: LockMode = "shared";

  /** Only a write blocks a read; other readers do not. */
  protected override get blockedBy(): LockMode {
    return "exclusive";
  }

  /**
   * An owner that writes gets its read beside the write, with the same token. The read stays when the write is released. When
   * the last handle of such a read is released, the read ends at the backend too, and the next read is a new one.
   */
  protected override async ask(ask: ReentrantAsk): Promise<Handle | null> {
    const { owner, throws } = ask;
    const write = this.books.find(this.lock, owner, "exclusive");
    if (write === undefined) return await super.ask(ask);
    try {
      const read = await this.#readBeside(write, ask);
      if (read !== null) return read;
    } catch (error) {
      if (!throws && error instanceof AcquireTimeoutError) return null;
      throw error;
    }
    // The holder released the write meanwhile, so this is now a read like any other.
    return await super.ask(ask);
  }

  #readBeside(write: Hold, { owner, options, bounds }: ReentrantAsk): Promise<Handle | null> {
    const { kind, name, mode, books } = this;
    return claimBeside(write, {
      ...{ kind, name, mode, permits: 1, owner, options, throws: true },
      startedMs: bounds.startedMs,
      onHold: (read) => books.enter(read),
    });
  }
}

class WriteSide extends ReentrantView {
  protected readonly mode: LockMode = "exclusive";

  protected override ask(ask: ReentrantAsk): Promise<Handle | null> {
    const reads = this.books.find(this.lock, ask.owner, "shared") !== undefined;
    // A request that asks once gets a true answer; only a wait would never end.
    if (reads && ask.options.waitMs > 0) {
      throw new DeadlockError(
        `the owner of this call reads "${this.name}": a write would wait for that read to end, and ` +
          "two readers that both ask for a write would wait for each other. Take the write first",
        { lockName: this.name, backend: this.engine.backend },
      );
    }
    return super.ask(ask);
  }
}
