import type { LockMode } from "../api/values.js";
import { PlainView } from "./plain-view.js";

/** A plain mutex over any driver. */
export class MutexView extends PlainView {
  protected readonly mode: LockMode = "exclusive";
}
