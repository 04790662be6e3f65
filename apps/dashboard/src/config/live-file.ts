import { stat } from "node:fs/promises";
import { messageOf } from "../core/problems.js";

/** Why the new content of a file could not be used. */
export interface LiveFileProblem {
  readonly message: string;
  /** Epoch milliseconds. */
  readonly sinceMs: number;
}

export interface LiveFileOptions<T> {
  readonly path: string;
  /** Reads and checks the file. Rejects with a message for people. */
  readonly read: () => Promise<T>;
  /**
   * The value while there is no such file. Default: a missing file is a problem like any other, and the last good value
   * stays.
   */
  readonly gone?: T;
  readonly onChange: () => void;
  /** Called once for each message. */
  readonly onProblem: (message: string) => void;
}

/**
 * The content of a file, read again when there is another file or other content. If the file cannot be used, the last
 * good value stays. The file is found by its name each time, so that renames into its place and symbolic links that
 * lead elsewhere are seen: Kubernetes changes a mounted secret by the link of its folder.
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

  /** Rejects if the file cannot be read now, because there is no last good value yet. */
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

  /** Reads the file if it looks different. With `force`, reads it in any case. */
  async look(force: boolean): Promise<void> {
    const { path, read, gone, onChange, onProblem } = this.#options;
    // This comes before the file is read, so that a change in between is seen by the next call.
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

/** Which file it is and how it looks. Two contents may differ in nothing but the time of the last change. */
async function looksOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? nothing : `unreadable ${code}`;
  }
}
