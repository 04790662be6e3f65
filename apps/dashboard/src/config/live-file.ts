import { stat } from "node:fs/promises";
import { messageOf } from "../core/problems.js";

/** Why the content of a file could not be taken over. */
export interface LiveFileProblem {
  readonly message: string;
  /** Epoch milliseconds. */
  readonly sinceMs: number;
}

export interface LiveFileOptions<T> {
  readonly path: string;
  /** Reads and checks it. Rejects with a message for people. */
  readonly read: () => Promise<T>;
  /** Its value while there is no such file. Default: that is a problem like any other, and the last good value stays. */
  readonly gone?: T;
  readonly onChange: () => void;
  /** Once for each message. */
  readonly onProblem: (message: string) => void;
}

/**
 * What a file says, read again when the file is another one or has other content. A file that cannot be taken over leaves the last good value as it is. The
 * file is asked for by its name each time, so renames into its place and symbolic links that lead elsewhere are seen: Kubernetes changes a mounted secret by
 * the link of its folder.
 */
export class LiveFile<T> {
  readonly #options: LiveFileOptions<T>;
  #value: T;
  #seen: string;
  #problem: LiveFileProblem | null = null;

  private constructor(options: LiveFileOptions<T>, value: T, seen: string) {
    this.#options = options;
    this.#value = value;
    this.#seen = seen;
  }

  /** Rejects where the file cannot be read now: there is no last good value yet. */
  static async open<T>(options: LiveFileOptions<T>): Promise<LiveFile<T>> {
    const seen = await looksOf(options.path);
    return new LiveFile(options, await options.read(), seen);
  }

  get value(): T {
    return this.#value;
  }

  get problem(): LiveFileProblem | null {
    return this.#problem;
  }

  /** `force`: reads it even where it looks as it did. */
  async look(force: boolean): Promise<void> {
    const { path, read, gone, onChange, onProblem } = this.#options;
    // This comes before the file is read: what changes in between is seen by the next look.
    const seen = await looksOf(path);
    if (!force && seen === this.#seen && this.#problem === null) return;
    try {
      this.#value = seen === nothing && gone !== undefined ? gone : await read();
      this.#problem = null;
      if (seen !== this.#seen) onChange();
    } catch (error) {
      const message = messageOf(error);
      if (message !== this.#problem?.message) onProblem(message);
      this.#problem = { message, sinceMs: this.#problem?.sinceMs ?? Date.now() };
    }
    this.#seen = seen;
  }
}

const nothing = "";

/** Which file it is and how it looks. Its content may differ in nothing but the time of its last change. */
async function looksOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? nothing : `unreadable ${code}`;
  }
}
