import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { Type } from "typebox";
import { Check } from "typebox/value";
import type { FindingRow } from "../contract/api.js";

export type Mute = NonNullable<FindingRow["muted"]>;

const mostMutes = 1_000;
const LineSchema = Type.Object({
  id: Type.String(),
  reason: Type.String(),
  by: Type.String(),
  untilMs: Type.Number(),
});

export interface MutesOptions {
  /** JSON lines; the whole file is written anew with each change. `undefined`: mutes are kept only in memory. */
  readonly file?: string;
  readonly now: () => number;
}

/** The findings that operators have muted, and until when. The last thousand mutes are kept. */
export class Mutes {
  readonly #file: string | undefined;
  readonly #now: () => number;
  /** The mutes by the finding's id; the newest is the last. */
  #mutes: ReadonlyMap<string, Mute> = new Map();
  #writing: Promise<void> = Promise.resolve();

  constructor({ file, now }: MutesOptions) {
    this.#file = file;
    this.#now = now;
  }

  /**
   * Opens the mutes with what an earlier process has left. Rejects if the file cannot be read or its directory cannot
   * be written.
   */
  static async open(options: MutesOptions): Promise<Mutes> {
    const mutes = new Mutes(options);
    if (options.file === undefined) return mutes;
    const text = await readFile(options.file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    mutes.#mutes = new Map(
      text.split("\n").flatMap((line) => {
        const read = parsed(line);
        if (!Check(LineSchema, read)) return [];
        const { id, reason, by, untilMs } = read;
        return [[id, { reason, by, untilMs }] as const];
      }),
    );
    await mutes.#change((kept) => kept);
    return mutes;
  }

  /** `null` if the finding is not muted now. */
  of(id: string): Mute | null {
    const mute = this.#mutes.get(id);
    return mute !== undefined && mute.untilMs > this.#now() ? { ...mute } : null;
  }

  /** Rejects, and mutes nothing, if the mute cannot be written down. */
  async set(id: string, mute: Mute): Promise<void> {
    await this.#change((kept) => {
      kept.delete(id);
      kept.set(id, mute);
      const [oldest] = kept.keys();
      if (kept.size > mostMutes && oldest !== undefined) kept.delete(oldest);
      return kept;
    });
  }

  /** Resolves when nothing is being written. */
  async close(): Promise<void> {
    await this.#writing;
  }

  /** Changes run one after the other, each on the result of the one before. */
  #change(change: (kept: Map<string, Mute>) => Map<string, Mute>): Promise<void> {
    const changed = this.#writing.then(async () => {
      const kept = change(new Map([...this.#mutes].filter(([, { untilMs }]) => untilMs > this.#now())));
      if (this.#file !== undefined) await writeWhole(this.#file, kept);
      this.#mutes = kept;
    });
    this.#writing = changed.catch(() => {});
    return changed;
  }
}

/** Writes under another name first, so that a process that dies meanwhile leaves the old file. */
async function writeWhole(file: string, mutes: ReadonlyMap<string, Mute>): Promise<void> {
  const beside = `${file}.new`;
  const lines = [...mutes].map(([id, mute]) => `${JSON.stringify({ id, ...mute })}\n`);
  const handle = await open(beside, "w", 0o600);
  try {
    await handle.writeFile(lines.join(""));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, file);
  const directory = await open(dirname(file), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
