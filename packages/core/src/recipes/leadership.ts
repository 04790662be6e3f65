import type { LeadershipHandle } from "../api/election.js";
import { InvalidArgumentError } from "../api/errors.js";
import { Handle } from "../grants/handle.js";
import type { Hold } from "../grants/hold.js";
import { show } from "../options/checks.js";
import { abortable } from "../signals/abortable.js";

/** A term of office: `lost` aborts on deposition, `release()` resigns. */
export class Leadership extends Handle implements LeadershipHandle {
  async announce(label: string): Promise<void> {
    const hold = Handle.holdOf(this);
    const { engine, name } = hold;
    const { driver } = engine;
    if (typeof label !== "string") {
      throw new InvalidArgumentError(`announce: label must be a string; got ${show(label)}`, {
        lockName: name,
      });
    }
    if (driver.announce === undefined) {
      throw engine.unsupported(`announce is not supported by the backend ${engine.backend}`, name);
    }
    this.#assertInOffice();
    try {
      await abortable(engine, this.lost, () => this.#tell(hold, label), name);
    } catch (error) {
      // This refusal may be the first sign for the driver that the term is gone.
      this.#assertInOffice();
      throw error;
    }
    hold.label = label;
  }

  async #tell(hold: Hold, label: string): Promise<void> {
    const { engine, grant } = hold;
    if (engine.link.state !== "connected") {
      await engine.contact();
      this.#assertInOffice();
    }
    await engine.driver.announce?.(grant, label);
  }

  protected override get shownAs(): string {
    return "LeadershipHandle";
  }

  /** Unlike `assertHeld` it accepts a term that is only in doubt, because an announcement does not change who leads. */
  #assertInOffice(): void {
    const { state } = this;
    if (state === "lost" || state === "released") this.assertHeld();
  }
}
