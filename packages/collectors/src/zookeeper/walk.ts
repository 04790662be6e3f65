import { joinPath } from "@holdfast/zk-protocol";
import type { BulkReads } from "./bulk-reads.js";
import type { LockBook } from "./lock-book.js";

/** The number of listings that are asked for together. */
const perRound = 2_000;

/** A listing with more names than this is merged in parts, with breaks between them. */
const largeListing = 10_000;

/** Gets the number of places listed so far, and the number of places known so far. */
export type WalkProgress = (listed: number, known: number) => void;

export class TooManyNodesError extends Error {
  override readonly name = "TooManyNodesError";
  readonly count: number;
  constructor(count: number) {
    super(`more than ${count} nodes`);
    this.count = count;
  }
}

/**
 * Lists everything at and below `root`, level by level, into the book, and drops what is not there any more. Nodes with
 * names of contenders count as leaves. Rejects with a `RequestError` when the connection ends half-way; what was listed
 * until then stays.
 *
 * The result is `false` when the root itself may not be listed.
 */
export async function walk(
  book: LockBook,
  reads: BulkReads,
  root: string,
  pass: number,
  maxPlaces: number,
  progress: WalkProgress,
): Promise<boolean> {
  const { mirror } = book;
  const queue: string[] = [root];
  let listed = 0;
  let readable = true;
  mirror.beginWalk();
  try {
    while (listed < queue.length) {
      if (queue.length > maxPlaces) throw new TooManyNodesError(maxPlaces);
      const round = queue.slice(listed, listed + perRound);
      const large = new Map<string, readonly string[]>();
      await reads.list(round, (path, result) => {
        if ("children" in result && result.children.length > largeListing) {
          large.set(path, result.children);
          return;
        }
        book.listed(() => {
          if ("children" in result) {
            const below = mirror.merge(path, result.children, pass);
            for (const child of below) queue.push(child);
          } else if (result.failure === "absent") {
            // A root may be made later, so it stays as an empty place.
            if (path === root) mirror.merge(path, [], pass);
            else mirror.absent(path);
          } else {
            mirror.denied(path, pass);
            if (path === root) readable = false;
          }
        });
      });
      for (const [path, children] of large) {
        const merging = mirror.mergeInParts(path, children, pass);
        for (;;) {
          const { done, value } = book.listed(() => merging.next());
          if (done === true) {
            for (const child of value) queue.push(child);
            break;
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      listed += round.length;
      progress(listed, queue.length);
    }
    // No listing shows that these places are gone: they lie below nodes that may not be listed.
    book.unwatched(() => mirror.prune(root, pass));
  } finally {
    mirror.endWalk();
  }
  return readable;
}

export interface Drift {
  /** The number of names that only the server or only memory had, and that no event had named. */
  readonly names: number;
  readonly places: number;
}

/**
 * The number of looks at a difference before it counts, because an event may arrive a moment after the answer that shows its
 * change.
 */
const looks = 3;

/**
 * Compares memory with the server, place by place, corrects the differences, and counts those that no event has named. Their
 * number must be 0.
 */
export async function compare(
  book: LockBook,
  reads: BulkReads,
  root: string,
  pass: number,
  pause: () => Promise<void>,
): Promise<Drift> {
  const { mirror } = book;
  let names = 0;
  let places = 0;
  mirror.beginWalk();
  try {
    let level = [root];
    while (level.length > 0) {
      const next: string[] = [];
      let doubtful = level;
      for (let look = 1; doubtful.length > 0; look++) {
        const asked = doubtful;
        doubtful = [];
        if (look > 1) await pause();
        await reads.list(asked, (path, result) => {
          const children = "children" in result ? result.children : [];
          const known = mirror.get(path);
          const refused = "failure" in result && result.failure !== "absent";
          if (refused || known?.denied === true) return;
          // An event has removed the place, so a listing that fails is no difference.
          if ("failure" in result && path !== root && known === undefined) return;
          const { missing, surplus } = mirror.differences(path, children);
          const different = missing.length + surplus.length;
          if (different > 0 && look < looks) {
            doubtful.push(path);
            return;
          }
          names += different;
          if (different > 0) places += 1;
          if ("failure" in result && path !== root) return book.listed(() => mirror.absent(path));
          if (different > 0) book.listed(() => mirror.merge(path, children, pass));
          else known?.seenIn(pass);
          for (const name of mirror.get(path)?.others ?? []) next.push(joinPath(path, name));
        });
      }
      level = next;
    }
  } finally {
    mirror.endWalk();
  }
  return { names, places };
}
