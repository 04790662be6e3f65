import { CuratorRecipe, type CuratorWait, type HeldNode, heldNode } from "./java-recipe.js";

/** One `InterProcessSemaphoreV2`. Leases go by the names of their nodes. */
export class CuratorSemaphore extends CuratorRecipe {
  /** `null` when not granted in time. */
  async acquire(wait: CuratorWait = {}): Promise<string | null> {
    const [lease] = (await this.acquireSeveral(1, wait)) ?? [];
    return lease ?? null;
  }

  /** One after the other, as Curator does, all within one time; `null` when not all were granted in it. */
  async acquireSeveral(quantity: number, wait: CuratorWait = {}): Promise<string[] | null> {
    const [granted, ...leases] = await this.askAndWait("acquire", wait, [quantity]);
    return granted === "true" ? leases : null;
  }

  async release(...leases: string[]): Promise<void> {
    await this.ask("release", leases);
  }

  /** Sets the data of the leases to come. */
  async setNodeData(data: Uint8Array): Promise<void> {
    await this.ask("setNodeData", [Buffer.from(data).toString("hex")]);
  }

  /** Node names of all leases, in no order; the one of the first waiter is among them. */
  leases(): Promise<string[]> {
    return this.ask("participants");
  }
}

export type Half = "read" | "write";

/** Curator's halves belong to threads. Two names are two threads of the JVM, `main` where none is given. */
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

  /** What Curator believes, of all threads. */
  holding(half: Half): Promise<boolean> {
    return this.askWhether("holding", [half]);
  }

  /** Full paths of all readers, or writers, or both: waiters included, each half in Curator's order. */
  async participants(half?: Half): Promise<string[]> {
    if (half !== undefined) return await this.ask("participants", [half]);
    const [readers, writers] = await Promise.all([this.participants("read"), this.participants("write")]);
    return [...readers, ...writers];
  }
}
