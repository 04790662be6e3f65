import type { LineProcess } from "./line-process.js";

const answerWithinMs = 30_000;

export interface HeldNode {
  readonly path: string;
  readonly czxid: bigint;
}

/** One `InterProcessMutex`, always used on one thread of its own. Paths are without the namespace, as Curator tells them. */
export class CuratorMutex {
  readonly #lines: LineProcess;
  readonly #name: string;

  constructor(lines: LineProcess, name: string) {
    this.#lines = lines;
    this.#name = name;
  }

  /** Without `waitMs` Curator waits for ever and the request for 60 s. `null` when not granted in time. */
  async acquire(options: { waitMs?: number } = {}): Promise<HeldNode | null> {
    const { waitMs = -1 } = options;
    const withinMs = waitMs < 0 ? 60_000 : waitMs + answerWithinMs;
    const [granted, path = "", czxid = ""] = await this.#lines.request(
      "acquire",
      [this.#name, String(waitMs)],
      withinMs,
    );
    return granted === "true" ? { path, czxid: BigInt(czxid) } : null;
  }

  async release(): Promise<void> {
    await this.#ask("release");
  }

  /** What Curator believes: nobody tells its mutex that the session ended. */
  async holding(): Promise<boolean> {
    return (await this.#ask("holding"))[0] === "true";
  }

  /** Full paths of holder and waiters in Curator's order. */
  participants(): Promise<string[]> {
    return this.#ask("participants");
  }

  /** Listens for a revocation of the *next* acquire, as Curator does; `revoked` resolves when it is asked for. */
  async makeRevocable(withinMs = 30_000): Promise<{ readonly revoked: Promise<void> }> {
    const pick = (event: string, values: string[]): boolean =>
      event === "revoked" && values[0] === this.#name;
    const revoked = this.#lines.event("revocation", pick, withinMs).then(() => {});
    // Whoever asks after the fact still gets the rejection; until then it must not count as unhandled.
    revoked.catch(() => {});
    await this.#ask("makeRevocable");
    return { revoked };
  }

  #ask(command: string, ...args: string[]): Promise<string[]> {
    return this.#lines.request(command, [this.#name, ...args], answerWithinMs);
  }
}
