import { CuratorRecipe, type CuratorWait } from "./java-recipe.js";

/** One `DistributedBarrier`. */
export class CuratorBarrier extends CuratorRecipe {
  async set(): Promise<void> {
    await this.ask("set");
  }

  async remove(): Promise<void> {
    await this.ask("remove");
  }

  /** False when it was not open in time. */
  async wait(wait: CuratorWait = {}): Promise<boolean> {
    return (await this.askAndWait("wait", wait))[0] === "true";
  }
}

/** One member of a `DistributedDoubleBarrier`, on a thread of its own. */
export class CuratorDoubleBarrier extends CuratorRecipe {
  /** False when not all entered in time. */
  async enter(wait: CuratorWait = {}): Promise<boolean> {
    return (await this.askAndWait("enter", wait))[0] === "true";
  }

  /** False when not all left in time. */
  async leave(wait: CuratorWait = {}): Promise<boolean> {
    return (await this.askAndWait("leave", wait))[0] === "true";
  }
}
