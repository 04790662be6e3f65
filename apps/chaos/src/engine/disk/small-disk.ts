import { existsSync } from "node:fs";
import { mkdir, open, rm, rmdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../machine/run-program.js";
import { requireInside } from "../network/inside.js";

const blockBytes = 4_096;
const fillName = "fill";

/**
 * A small file system in memory, which can be filled to the last block. It is mounted on a folder and visible only in
 * the runner's own mount namespace. It disappears with that namespace, however the runner ends.
 */
export class SmallDisk {
  readonly path: string;
  #mounted = true;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * @param path a folder, which is made if it does not exist.
   * @throws Error outside of the runner's own namespaces, because nothing may be mounted on the machine itself.
   */
  static async mount(path: string, sizeBytes: number): Promise<SmallDisk> {
    requireInside("a small disk");
    await mkdir(path, { recursive: true });
    await runProgram("mount", ["-t", "tmpfs", "-o", `size=${sizeBytes},mode=0700`, "holdfast", path]);
    return new SmallDisk(path);
  }

  /** Fills the disk to the last block. Resolves with the number of bytes that this took. */
  async fill(): Promise<number> {
    const block = Buffer.alloc(blockBytes);
    const file = await open(join(this.path, fillName), "a");
    let written = 0;
    try {
      // Write small pieces: a big one that does not fit would leave room for small ones.
      for (;;) written += (await file.write(block)).bytesWritten;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    } finally {
      await file.close();
    }
    return written;
  }

  /** Frees the space that `fill` took. */
  async free(): Promise<void> {
    await rm(join(this.path, fillName), { force: true });
  }

  get full(): boolean {
    return existsSync(join(this.path, fillName));
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path);
    return bavail * bsize;
  }

  /** Unmounts the disk; everything on it is lost. It may not be used any more. */
  async unmount(): Promise<void> {
    if (!this.#mounted) return;
    await runProgram("umount", [this.path]);
    this.#mounted = false;
    await rmdir(this.path);
  }
}
