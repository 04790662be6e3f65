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

  /** Permits of the holders whose label begins so: those were held at one moment, and there may have been more. */
  async count(prefix = ""): Promise<number> {
    return (await readdir(this.#folder)).filter((file) => file.startsWith(prefix)).length;
  }
}

/** An empty folder that goes with the log. */
export async function presenceFolder(log: ContentionLog): Promise<string> {
  const folder = join(dirname(log.files.counterFile), "presence");
  await mkdir(folder);
  return folder;
}
