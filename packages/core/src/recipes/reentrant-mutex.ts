import type { LockMode } from "../api/values.js";
import { ReentrantView } from "./reentrant-view.js";

/** A mutex that its owner may take again. */
export class ReentrantMutexView extends ReentrantView {
  protected readonly mode: LockMode = "exclusive";
}
