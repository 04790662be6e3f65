import type { LineProcess } from "../process/line-process.js";

export const answerWithinMs = 30_000;
const foreverMs = 60_000;

/** How long Curator is to wait. Left out it waits for ever, and the request for 60 s. */
export interface CuratorWait {
  readonly waitMs?: number;
}

/** Node path, without the namespace as Curator tells it, and creation id. */
export interface HeldNode {
  readonly path: string;
  readonly czxid: bigint;
}

/** An object of one of Curator's recipes in the JVM; see `Recipe.java`. */
export class CuratorRecipe {
  /** Under which the JVM knows it. */
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

  /** Asks for something that may take as long as `wait` says. The time goes to the JVM after `args`. */
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

  /** Calls `heard` at each event that this object tells. */
  protected listen(heard: (words: string[]) => void): void {
    this.#lines.listen((event, [name, ...words]) => {
      if (event === this.#kind && name === this.remoteName) heard(words);
    });
  }

  /** Resolves at the next event that is `word`. */
  protected async next(word: string, withinMs: number): Promise<void> {
    const pick = (event: string, [name, first]: string[]): boolean =>
      event === this.#kind && name === this.remoteName && first === word;
    await this.#lines.event(`${word} of ${this.remoteName}`, pick, withinMs);
  }
}

/** From the answer to an acquire: `true path czxid`, or `false`. */
export function heldNode([granted, path = "", czxid = ""]: string[]): HeldNode | null {
  return granted === "true" ? { path, czxid: BigInt(czxid) } : null;
}
