import { SweptFolder } from "./machine/swept-folder.js";
import { buildShims } from "./shims/build.js";
import type { ShimHandle } from "./shims/shim-handle.js";

/** The shims for workers, each with a clock of its own. They are built once for a scenario. */
export class WorkerShims {
  readonly #folder: SweptFolder;
  readonly #handles = new Map<string, ShimHandle>();

  private constructor(folder: SweptFolder, handles: ReadonlyMap<string, ShimHandle>) {
    this.#folder = folder;
    this.#handles = new Map(handles);
  }

  /** @throws ProgramError if there is no C compiler. */
  static async build(workers: readonly string[]): Promise<WorkerShims> {
    const folder = new SweptFolder("workers");
    try {
      const shims = await buildShims(folder.path);
      return new WorkerShims(folder, new Map(workers.map((name) => [name, shims.handle(name)])));
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  of(worker: string): ShimHandle | null {
    return this.#handles.get(worker) ?? null;
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.values()) handle.close();
    await this.#folder.remove();
  }
}
