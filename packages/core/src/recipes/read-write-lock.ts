import type { PrimitiveKind } from "../api/capabilities.js";
import type { ReadLock, ReadWriteLock, WriteLock } from "../api/read-write-lock.js";
import type { LockMode } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Hold } from "../grants/hold.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { PlainView } from "./plain-view.js";
import { View } from "./view.js";
import { WriteLockHandle } from "./write-handle.js";

/** Many readers or one writer, over any driver. Neither side is re-entrant. */
export class ReadWriteLockView extends View implements ReadWriteLock {
  readonly read: ReadLock;
  readonly write: WriteLock;

  constructor(engine: GrantEngine, kind: PrimitiveKind, name: string, defaults: ResolvedAcquireOptions) {
    super(engine, kind, name, defaults);
    this.read = new ReadSide(engine, kind, name, defaults);
    this.write = new WriteSide(engine, kind, name, defaults);
  }
}

class ReadSide extends PlainView {
  protected readonly mode: LockMode = "shared";

  /** A second read inside a read is no deadlock by itself. It becomes one only behind a writer that has queued. */
  protected override get blockedBy(): LockMode {
    return "exclusive";
  }
}

class WriteSide extends PlainView<WriteLockHandle> {
  protected readonly mode: LockMode = "exclusive";
  protected override readonly handleFrom = writeHandle;
}

function writeHandle(hold: Hold, options: ResolvedAcquireOptions): WriteLockHandle {
  return new WriteLockHandle(hold, options);
}
