import type { PermitHandle } from "../api/semaphore.js";
import { Handle, type HandleOptions } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";

/** A batch of permits. They are granted, released and lost together: when one of them is gone, the handle is lost. */
export class Permit extends Handle implements PermitHandle {
  readonly permits: number;
  readonly permitIds: readonly string[];

  constructor(hold: Hold, options: HandleOptions, permits: number) {
    super(hold, options);
    this.permits = permits;
    this.permitIds = hold.grant.permitIds;
  }

  protected override get shownAs(): string {
    return "PermitHandle";
  }

  protected override shown(): object {
    const { permits, permitIds } = this;
    return { ...super.shown(), permits, permitIds };
  }
}
