import type { Runtime } from "@holdfast/core";
import { ReplyError } from "@holdfast/redis-recipes/internal";
import type { Link } from "./link.js";
import type { Places } from "./places.js";
import {
  answeredAt,
  isHashKey,
  parseReading,
  type Reading,
  type ReadingDepth,
  readingCommands,
  slimReplies,
  slimScript,
} from "./reading.js";

/** The most locks in one pipeline, whose reply takes a few milliseconds to read, here and at the server. */
const locksAtOnce = 100;

/** Reads locks, many in one write, from the masters that serve them. */
export class Reader {
  readonly #places: Places;
  readonly #runtime: Runtime;
  readonly #took: (reading: Reading) => void;
  #scripts = true;

  constructor(places: Places, runtime: Runtime, took: (reading: Reading) => void) {
    this.#places = places;
    this.#runtime = runtime;
    this.#took = took;
  }

  /** Hands on each reading as it arrives. Rejects with the first error; what was read before it counts. */
  async read(keys: Iterable<string>, depth: ReadingDepth): Promise<void> {
    const byLink = new Map<Link, string[]>();
    for (const key of keys) {
      const link = this.#places.masterOf(key);
      // No master serves the key at present; a later round asks for it again.
      if (link === null) continue;
      const list = byLink.get(link);
      if (list === undefined) byLink.set(link, [key]);
      else list.push(key);
    }
    await Promise.all([...byLink].map(([link, own]) => this.readAt(link, own, depth)));
  }

  /** Resolves with the keys that are no hash where a slim reading looked for one: semaphores, or anything else. */
  async readAt(link: Link, keys: readonly string[], depth: ReadingDepth): Promise<readonly string[]> {
    const texts: string[] = [];
    for (let at = 0; at < keys.length; at += locksAtOnce)
      await this.#batch(link, keys.slice(at, at + locksAtOnce), depth, texts);
    return texts;
  }

  async #batch(link: Link, keys: readonly string[], depth: ReadingDepth, texts: string[]): Promise<void> {
    if (depth === "slim" && this.#scripts && keys.every(isHashKey)) {
      if (await this.#script(link, keys, texts)) return;
    }
    const calls = keys.map((key) => readingCommands(key, depth));
    const sentMs = this.#runtime.nowMs();
    const replies = await link.send(calls.flat());
    const when = answeredAt(this.#runtime, sentMs);
    const refused = replies.find(isForNow);
    if (refused !== undefined) throw refused;
    let at = 0;
    keys.forEach((key, index) => {
      const count = (calls[index] as readonly unknown[]).length;
      const own = replies.slice(at, at + count);
      at += count;
      if (own.some(isMoved)) {
        this.#places.outdated();
        return;
      }
      this.#take(parseReading(key, depth, own, when), texts);
    });
  }

  /** Reads by a script. False where the user may not run scripts, or a slot is being moved: then commands are sent instead. */
  async #script(link: Link, keys: readonly string[], texts: string[]): Promise<boolean> {
    const sentMs = this.#runtime.nowMs();
    const [answers] = await link.send([["eval_ro", slimScript, 0, ...keys]]);
    const when = answeredAt(this.#runtime, sentMs);
    if (!Array.isArray(answers)) {
      if (answers instanceof ReplyError && answers.kind === "denied") this.#scripts = false;
      return false;
    }
    const where = { servers: [] };
    keys.forEach((key, index) => {
      const replies = slimReplies(answers[index], where);
      if (replies !== null) this.#take(parseReading(key, "slim", replies, when), texts);
    });
    return true;
  }

  #take(reading: Reading, texts: string[]): void {
    if (reading.shape.is === "other" && reading.shape.what === "no hash") texts.push(reading.key);
    this.#took(reading);
  }
}

export function isMoved(reply: unknown): boolean {
  return reply instanceof ReplyError && (reply.kind === "moved" || reply.kind === "ask");
}

/**
 * Whether a refusal is temporary, as while a long script runs or a cluster is down. It shows nothing of the lock, and does
 * not mean that the lock is gone.
 */
function isForNow(reply: unknown): reply is ReplyError {
  return reply instanceof ReplyError && reply.retryable && !isMoved(reply);
}
