import { CuratorRecipe, type CuratorWait, type HeldNode, heldNode } from "./java-recipe.js";

/** One `InterProcessMutex`, always used on one thread of its own. Paths are without the namespace, as Curator gives them. */
export class CuratorMutex extends CuratorRecipe {
  /** `null` when not granted in time. */
  async acquire(wait: CuratorWait = {}): Promise<HeldNode | null> {
    return heldNode(await this.askAndWait("acquire", wait));
  }

  async release(): Promise<void> {
    await this.ask("release");
  }

  /** What Curator believes. Its mutex does not notice the end of the session. */
  holding(): Promise<boolean> {
    return this.askWhether("holding");
  }

  /** Full paths of holder and waiters in Curator's order. */
  participants(): Promise<string[]> {
    return this.ask("participants");
  }

  /** Listens for a revocation of the *next* acquire, as Curator does. `revoked` resolves when a revocation is requested. */
  async makeRevocable(withinMs = 30_000): Promise<{ readonly revoked: Promise<void> }> {
    const revoked = this.next("revoked", withinMs);
    // A test that awaits it later still gets the rejection. Until then the rejection must not count as unhandled.
    revoked.catch(() => {});
    await this.ask("makeRevocable");
    return { revoked };
  }
}

/**
 * One `InterProcessSemaphoreMutex`. It is not re-entrant, and any thread may release it. It does not show its nodes: see
 * `dump`.
 */
export class CuratorSemaphoreMutex extends CuratorRecipe {
  /** False when not granted in time. */
  async acquire(wait: CuratorWait = {}): Promise<boolean> {
    return (await this.askAndWait("acquire", wait))[0] === "true";
  }

  async release(): Promise<void> {
    await this.ask("release");
  }

  /** What Curator believes. */
  holding(): Promise<boolean> {
    return this.askWhether("holding");
  }
}

/** One `InterProcessMultiLock` over mutexes, always used on one thread of its own. `waitMs` is the limit for each member. */
export class CuratorMultiLock extends CuratorSemaphoreMutex {}
