import type { LockMode } from "../api/values.js";
import { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { PlainView } from "./plain-view.js";

/** A plain mutex over any driver. */
export class MutexView extends PlainView {
  protected readonly mode: LockMode = "exclusive";

  protected handleFrom(hold: Hold, options: ResolvedAcquireOptions): Handle {
    return new Handle(hold, options);
  }
}
