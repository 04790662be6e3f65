import { CuratorRecipe, type CuratorWait, type HeldNode, heldNode } from "./java-recipe.js";

/** One `InterProcessSemaphoreV2`. A lease is named by its node. */
export class CuratorSemaphore extends CuratorRecipe {
  /** `null` when not granted in time. */
  async acquire(wait: CuratorWait = {}): Promise<string | null> {
    const [lease] = (await this.acquireSeveral(1, wait)) ?? [];
    return lease ?? null;
  }

  /** Acquires one lease after the other, as Curator does, all within one time; `null` when not all were granted in it. */
  async acquireSeveral(quantity: number, wait: CuratorWait = {}): Promise<string[] | null> {
    const [granted, ...leases] = await this.askAndWait("acquire", wait, [quantity]);
    return granted === "true" ? leases : null;
  }

  async release(...leases: string[]): Promise<void> {
    await this.ask("release", leases);
  }

  /** Sets the data of leases that are acquired later. */
  async setNodeData(data: Uint8Array): Promise<void> {
    await this.ask("setNodeData", [Buffer.from(data).toString("hex")]);
  }

  /** The node names of all leases, in no order. The node of the first waiter is among them. */
  leases(): Promise<string[]> {
    return this.ask("participants");
  }
}

export type Half = "read" | "write";

/** The halves of Curator's lock belong to threads. Two names are two threads of the JVM; the default is `main`. */
export interface OnThread {
  readonly thread?: string;
}

/** One `InterProcessReadWriteLock`. */
export class CuratorReadWriteLock extends CuratorRecipe {
  /** False when not granted in time. */
  async acquire(half: Half, options: CuratorWait & OnThread = {}): Promise<boolean> {
    return (await this.take(half, options)) !== null;
  }

  /** Like `acquire`, but gives the node. `null` when not granted in time. */
  async take(half: Half, options: CuratorWait & OnThread = {}): Promise<HeldNode | null> {
    return heldNode(await this.askAndWait("acquire", options, [half], [options.thread ?? "main"]));
  }

  async release(half: Half, options: OnThread = {}): Promise<void> {
    await this.ask("release", [half, options.thread ?? "main"]);
  }

  /** What Curator believes, for all threads together. */
  holding(half: Half): Promise<boolean> {
    return this.askWhether("holding", [half]);
  }

  /** Full paths of all readers, or all writers, or both. Waiters are included, and each half is in Curator's order. */
  async participants(half?: Half): Promise<string[]> {
    if (half !== undefined) return await this.ask("participants", [half]);
    const [readers, writers] = await Promise.all([this.participants("read"), this.participants("write")]);
    return [...readers, ...writers];
  }
}
