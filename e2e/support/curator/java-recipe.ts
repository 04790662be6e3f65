import type { LineProcess } from "../process/line-process.js";

export const answerWithinMs = 30_000;
const foreverMs = 60_000;

/** How long Curator waits. Without it Curator waits for ever, and the request fails after 60 s. */
export interface CuratorWait {
  readonly waitMs?: number;
}

/** The path of the node, without the namespace as Curator gives it, and the id of its creation. */
export interface HeldNode {
  readonly path: string;
  readonly czxid: bigint;
}

/** An object of one of Curator's recipes in the JVM; see `Recipe.java`. */
export class CuratorRecipe {
  /** The name by which the JVM knows it. */
  readonly remoteName: string;
  readonly #lines: LineProcess;
  readonly #kind: string;

  constructor(lines: LineProcess, kind: string, remoteName: string) {
    this.#lines = lines;
    this.#kind = kind;
    this.remoteName = remoteName;
  }

  protected ask(verb: string, args: readonly unknown[] = [], withinMs = answerWithinMs): Promise<string[]> {
    return this.#lines.request(`${this.#kind}.${verb}`, [this.remoteName, ...args.map(String)], withinMs);
  }

  /** Sends a request that may take as long as `wait` says. The time goes to the JVM after `args`. */
  protected askAndWait(
    verb: string,
    { waitMs = -1 }: CuratorWait,
    args: readonly unknown[] = [],
    after: readonly unknown[] = [],
  ): Promise<string[]> {
    const withinMs = waitMs < 0 ? foreverMs : waitMs + answerWithinMs;
    return this.ask(verb, [...args, waitMs, ...after], withinMs);
  }

  protected async askWhether(verb: string, args: readonly unknown[] = []): Promise<boolean> {
    return (await this.ask(verb, args))[0] === "true";
  }

  /** Calls `heard` for each event of this object. */
  protected listen(heard: (words: string[]) => void): void {
    this.#lines.listen((event, [name, ...words]) => {
      if (event === this.#kind && name === this.remoteName) heard(words);
    });
  }

  /** Resolves at the next event of this object whose first word is `word`. */
  protected async next(word: string, withinMs: number): Promise<void> {
    const pick = (event: string, [name, first]: string[]): boolean =>
      event === this.#kind && name === this.remoteName && first === word;
    await this.#lines.event(`${word} of ${this.remoteName}`, pick, withinMs);
  }
}

/** Reads the answer to an acquire: `true path czxid`, or `false`. */
export function heldNode([granted, path = "", czxid = ""]: string[]): HeldNode | null {
  return granted === "true" ? { path, czxid: BigInt(czxid) } : null;
}
