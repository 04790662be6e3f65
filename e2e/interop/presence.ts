import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ContentionLog } from "./contention-log.js";

/** Our side of `Presence.java`: a folder in which every holder has one file for each permit while it holds. */
export class Presence {
  readonly #folder: string;
  readonly #mine: readonly string[];

  constructor(folder: string, label: string, permits = 1) {
    this.#folder = folder;
    this.#mine = Array.from({ length: permits }, (_, at) => join(folder, `${label}.${at}`));
  }

  async enter(): Promise<void> {
    for (const file of this.#mine) await writeFile(file, "", { flag: "wx" });
  }

  async leave(): Promise<void> {
    for (const file of this.#mine) await rm(file);
  }

  /** The number of permits of the holders whose label begins with `prefix`. So many were held at one moment, perhaps more. */
  async count(prefix = ""): Promise<number> {
    return (await readdir(this.#folder)).filter((file) => file.startsWith(prefix)).length;
  }
}

/** Makes an empty folder that is removed with the log. */
export async function presenceFolder(log: ContentionLog): Promise<string> {
  const folder = join(dirname(log.files.counterFile), "presence");
  await mkdir(folder);
  return folder;
}
