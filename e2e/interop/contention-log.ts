import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";

export interface LoggedGrant {
  readonly label: string;
  /** The czxid of the node that stands for the grant; `null` where the contender does not know it. */
  readonly czxid: bigint | null;
  /** The sequence number of that node; `null` where the contender does not know it. */
  readonly sequence: number | null;
  readonly countBefore: number;
}

/**
 * The counter file that only a lock protects, and the log that its holders leave: one line for each grant, written
 * while holding, `label czxid nodeName countBefore`, with `-` for what is not known.
 */
export class ContentionLog implements AsyncDisposable {
  readonly files: { readonly counterFile: string; readonly logFile: string };
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
    this.files = { counterFile: join(dir, "counter"), logFile: join(dir, "grants.log") };
  }

  static async start(): Promise<ContentionLog> {
    const log = new ContentionLog(await mkdtemp(join(tmpdir(), "holdfast-contention-")));
    await writeFile(log.files.counterFile, "0");
    await writeFile(log.files.logFile, "");
    return log;
  }

  async grants(): Promise<LoggedGrant[]> {
    const text = await readFile(this.files.logFile, "utf8");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [label = "", czxid = "", node = "", countBefore = ""] = line.split(" ");
        const digits = /(?:lock|latch)-(\d{10})$/.exec(node)?.[1];
        return {
          label,
          czxid: czxid === "-" ? null : BigInt(czxid),
          sequence: digits === undefined ? null : Number(digits),
          countBefore: Number(countBefore),
        };
      });
  }

  /**
   * Expects that no update was lost: the counter is `total`, and every holder found it one higher than the holder before.
   * Expects that the grants followed the queue: creation ids and sequence numbers, where both are known, rise from line to line.
   */
  async expectOrderly(total: number): Promise<LoggedGrant[]> {
    const grants = await this.grants();
    expect(grants).toHaveLength(total);
    expect(Number(await readFile(this.files.counterFile, "utf8")), "counter").toBe(total);
    let before: LoggedGrant | null = null;
    for (const [at, grant] of grants.entries()) {
      expect(grant.countBefore, `count found by grant ${at}, ${grant.label}`).toBe(at);
      if (before !== null) {
        const pair = `grant ${at} (${grant.label}) after ${before.label}`;
        if (grant.czxid !== null && before.czxid !== null) {
          expect(grant.czxid, `${pair}: czxid`).toBeGreaterThan(before.czxid);
        }
        if (grant.sequence !== null && before.sequence !== null) {
          expect(grant.sequence, `${pair}: sequence`).toBeGreaterThan(before.sequence);
        }
      }
      before = grant;
    }
    return grants;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }
}
