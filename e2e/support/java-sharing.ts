import type { LineProcess } from "./line-process.js";

const answerWithinMs = 30_000;

export interface SemaphoreContention {
  readonly path: string;
  readonly maxLeases: number;
  /** Empty at first; each holder has a file in it while it holds. */
  readonly folder: string;
  readonly grants: number;
  readonly label: string;
}

export interface ReadWriteContention {
  readonly path: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** Empty at first; each holder has a file in it while it holds. */
  readonly folder: string;
  readonly turns: number;
  /** Every so many turns it writes; in the others it reads. */
  readonly writeEvery: number;
  readonly label: string;
}

/** One `InterProcessSemaphoreV2`. */
export class CuratorSemaphore {
  readonly #lines: LineProcess;
  readonly #name: string;

  constructor(lines: LineProcess, name: string) {
    this.#lines = lines;
    this.#name = name;
  }

  /** The name of the lease's node; `null` when not granted in time. Without `waitMs` Curator waits for ever, the request for 60 s. */
  async acquire(options: { waitMs?: number } = {}): Promise<string | null> {
    const { waitMs = -1 } = options;
    const args = [this.#name, String(waitMs)];
    const [granted, node = ""] = await this.#lines.request("takeLease", args, limitOf(waitMs));
    return granted === "true" ? node : null;
  }

  async release(node: string): Promise<void> {
    await this.#lines.request("returnLease", [this.#name, node], answerWithinMs);
  }

  /** Node names of all leases, those that wait for their turn included, in no order. */
  leases(): Promise<string[]> {
    return this.#lines.request("leases", [this.#name], answerWithinMs);
  }
}

export type Half = "read" | "write";

/** One `InterProcessReadWriteLock`, both halves always used on one thread of its own. */
export class CuratorReadWriteLock {
  readonly #lines: LineProcess;
  readonly #name: string;

  constructor(lines: LineProcess, name: string) {
    this.#lines = lines;
    this.#name = name;
  }

  /** False when not granted in time. Without `waitMs` Curator waits for ever, the request for 60 s. */
  async acquire(half: Half, options: { waitMs?: number } = {}): Promise<boolean> {
    const { waitMs = -1 } = options;
    const args = [this.#name, half, String(waitMs)];
    const [granted] = await this.#lines.request("acquireHalf", args, limitOf(waitMs));
    return granted === "true";
  }

  async release(half: Half): Promise<void> {
    await this.#lines.request("releaseHalf", [this.#name, half], answerWithinMs);
  }

  /** Full paths of all readers and writers, waiters included. */
  participants(): Promise<string[]> {
    return this.#lines.request("halves", [this.#name], answerWithinMs);
  }
}

function limitOf(waitMs: number): number {
  return waitMs < 0 ? 60_000 : waitMs + answerWithinMs;
}
