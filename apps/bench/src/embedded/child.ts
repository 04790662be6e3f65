import { type ChildProcess, fork } from "node:child_process";

/** A program of this folder in a process of its own. It ends with this process, or when it is disposed of. */
export class Child implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(name: "server-process" | "load-process") {
    this.#child = fork(new URL(`./${name}.js`, import.meta.url), [], { execArgv: [] });
    this.#ended = new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
    });
  }

  /** The next message of the process. @throws Error if the process ends first. */
  async told<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void =>
        reject(new Error(`a process of the bench ended with ${code}`));
      this.#child.once("exit", ended);
      this.#child.once("message", (message) => {
        this.#child.off("exit", ended);
        resolve(message as T);
      });
    });
  }

  async ask<T>(message: object): Promise<T> {
    const answer = this.told<T>();
    this.#child.send(message);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}
