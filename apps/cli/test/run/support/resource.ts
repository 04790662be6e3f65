import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@holdfast/test-servers";
import type { Holdfast } from "./holdfast.js";

/** A line that `writer.mjs` has written. */
export type Line =
  | { readonly what: "beat"; readonly pid: number; readonly leader: number; readonly atMs: number }
  | {
      readonly what: "begin";
      readonly pid: number;
      readonly ppid: number;
      /** The pid of the command that `holdfast run` has started: this process, or the one that has started it. */
      readonly leader: number;
      readonly token: string | undefined;
      /** Writers of other commands that were alive when this one began. */
      readonly alive: readonly number[];
      readonly atMs: number;
    };

export type Begin = Extract<Line, { what: "begin" }>;

/** The command ended too early: a lock with a short lease is also lost when a busy machine does not renew it in time. */
export class EndedEarly extends Error {
  constructor({ stderr }: Holdfast) {
    super(`holdfast run has ended too early: ${stderr}`);
  }
}

/** The file into which the commands of one test write. */
export class Resource implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "holdfast-run-"));
  readonly file: string = join(this.folder, "lines");

  constructor() {
    appendFileSync(this.file, "");
  }

  lines(): Line[] {
    // The last line of a writer that was killed may be cut off.
    return readFileSync(this.file, "utf8")
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as Line);
  }

  begins(): Begin[] {
    return this.lines().filter((line) => line.what === "begin");
  }

  /** Waits until `count` writers have begun. Rejects when `by` ends before. */
  async begun(count: number, by: Holdfast): Promise<[Begin, ...Begin[]]> {
    const found = await eventually(() => (this.begins().length >= count || by.over) && this.begins(), {
      what: `${count} writers to begin`,
      detail: () => by.stderr,
    });
    if (found.length < count) throw new EndedEarly(by);
    return found as [Begin, ...Begin[]];
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** How the writers of two commands have met. */
export interface Meeting {
  /** For how many ms a writer of the first command wrote, or was alive, after the second command began; 0 if it was dead. */
  readonly overlapMs: number;
  /** When the first command wrote for the last time. */
  readonly lastMs: number;
  readonly secondBeganMs: number;
}

/** Compares the first command that began with all later ones. */
export function meeting(lines: readonly Line[]): Meeting {
  const begins = lines.filter((line) => line.what === "begin");
  const [first] = begins;
  const second = begins.find(({ leader }) => leader !== first?.leader);
  if (first === undefined || second === undefined) throw new Error("two commands have not begun");
  const lastMs = Math.max(...lines.filter(({ leader }) => leader === first.leader).map(({ atMs }) => atMs));
  const overlapMs = Math.max(0, lastMs - second.atMs);
  // A command that was alive but wrote nothing more may have been stopped. That is an overlap of unknown length.
  const lived = begins.some(({ leader, alive }) => leader !== first.leader && alive.length > 0);
  return { overlapMs: lived ? Math.max(overlapMs, 1) : overlapMs, lastMs, secondBeganMs: second.atMs };
}
