import { parseOwner } from "@holdfast/redis-recipes/internal";

/** The part of a lock that a key is: the lock's own key, or one of the keys beside it. */
export type KeyPart =
  | "lock"
  | "token"
  | "waiters"
  | "alive"
  | "run"
  | "queue"
  | "deadlines"
  | "grants"
  | "take"
  | "read-hold"
  | "labels"
  | "barrier"
  | "double-barrier"
  | "members"
  | "passing";

export interface KeyName {
  /** The key of the lock. */
  readonly lock: string;
  readonly part: KeyPart;
}

const prefixes: readonly (readonly [string, KeyPart])[] = [
  ["redisson_lock_token:", "token"],
  ["redisson_lock_queue:", "queue"],
  ["redisson_lock_timeout:", "deadlines"],
  ["redisson_unlock_latch:", "passing"],
  ["holdfast_waiters:", "waiters"],
  ["holdfast_alive:", "alive"],
  ["holdfast_run:", "run"],
  ["holdfast_labels:", "labels"],
  ["holdfast_double_barrier_members:", "members"],
  ["hf:client:", "passing"],
];

/** The prefix of the key of an election's mutex, which is shown under that key. */
export const electionPrefix = "holdfast_election:";
export const barrierPrefix = "holdfast_barrier:";
export const doubleBarrierPrefix = "holdfast_double_barrier:";

/**
 * The lock that a key belongs to, by Redisson's rules for names, read backwards. `{x}` after a prefix may come from a lock
 * `x` or from a lock `{x}`. This takes the plain name; `Book` prefers the name with braces where it knows a lock of that
 * name only.
 */
export function keyNameOf(key: string): KeyName {
  if (key.startsWith(doubleBarrierPrefix)) return { lock: key, part: "double-barrier" };
  if (key.startsWith(barrierPrefix)) return { lock: key, part: "barrier" };
  if (key.startsWith(electionPrefix)) return { lock: key, part: "lock" };
  if (key.charCodeAt(0) === 0x72 || key.charCodeAt(0) === 0x68) {
    for (const [prefix, part] of prefixes) {
      if (!key.startsWith(prefix)) continue;
      const rest = key.slice(prefix.length);
      if (part === "members") return { lock: `${doubleBarrierPrefix}${rest}`, part };
      if (part === "labels") return { lock: `${electionPrefix}${rest}`, part };
      return { lock: unbraced(rest), part };
    }
  }
  if (key.includes("{")) {
    const suffix = /^(.*):(?:timeout|holdfast_take:([^:]+:\d+)|([^:]+:\d+):rwlock_timeout:\d+)$/s.exec(key);
    if (suffix !== null) {
      const [, lock = "", taker, reader] = suffix;
      if (taker !== undefined) return { lock: unbraced(lock), part: "take" };
      if (reader !== undefined) return { lock: unbraced(lock), part: "read-hold" };
      return { lock: unbraced(lock), part: "grants" };
    }
  }
  return { lock: key, part: "lock" };
}

function unbraced(rest: string): string {
  const inner = /^\{([^{]*)\}$/s.exec(rest)?.[1];
  return inner === undefined || inner === "" ? rest : inner;
}

export type ChannelUse = "mutex" | "fair" | "read-write" | "semaphore" | "latch";

export interface ChannelName {
  readonly lock: string;
  readonly use: ChannelUse;
  /** The listening owner, for the channel of a fair lock. */
  readonly owner: string | null;
}

/** The lock whose waiters listen on a channel of Redisson's; `null` for any other channel. */
export function channelNameOf(channel: string): ChannelName | null {
  const rest = (prefix: string): string | null =>
    channel.startsWith(prefix) ? channel.slice(prefix.length) : null;
  const mutex = rest("redisson_lock__channel:");
  if (mutex !== null) {
    const fair = /^(.*):([^:]+:\d+)$/s.exec(mutex);
    const owner = fair?.[2];
    if (owner !== undefined && parseOwner(owner) !== null)
      return { lock: unbraced(fair?.[1] ?? ""), use: "fair", owner };
    return { lock: unbraced(mutex), use: "mutex", owner: null };
  }
  const readWrite = rest("redisson_rwlock:");
  if (readWrite !== null) return { lock: unbraced(readWrite), use: "read-write", owner: null };
  const semaphore = rest("redisson_sc:");
  if (semaphore !== null) return { lock: unbraced(semaphore), use: "semaphore", owner: null };
  const latch = /^redisson_countdownlatch__channel__\{(.*)\}$/s.exec(channel)?.[1];
  return latch === undefined ? null : { lock: latch, use: "latch", owner: null };
}

/** What one place of a pattern matches: any characters, any one character, one of a set, or the one with this code. */
type Mark = "many" | "one" | RegExp | number;

/**
 * Makes a function that tests whether a key matches a pattern of SCAN, with `*`, `?`, `[...]` and backslashes as Redis reads
 * them. It makes no regular expression of the whole pattern. Strangers choose the names of keys, and an expression with many
 * stars would block the event loop for minutes. The work here is at most key x pattern.
 */
export function globMatcher(glob: string): (key: string) => boolean {
  const marks = marksOf(glob);
  return (key) => {
    let mark = 0;
    // The last star that was met, and the position in the key up to which it matches.
    let star = -1;
    let taken = 0;
    for (let at = 0; at < key.length; ) {
      const wanted = marks[mark];
      if (wanted === "many") {
        star = mark++;
        taken = at;
      } else if (wanted !== undefined && fits(wanted, key, at)) {
        mark++;
        at++;
      } else if (star === -1) return false;
      else {
        mark = star + 1;
        at = ++taken;
      }
    }
    while (marks[mark] === "many") mark++;
    return mark === marks.length;
  };
}

function marksOf(glob: string): readonly Mark[] {
  const marks: Mark[] = [];
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at];
    if (char === "*") marks.push("many");
    else if (char === "?") marks.push("one");
    else if (char === "[") {
      const { set, end } = setAt(glob, at + 1);
      marks.push(new RegExp(set, "s"));
      at = end;
    } else {
      if (char === "\\" && at + 1 < glob.length) at++;
      marks.push(glob.charCodeAt(at));
    }
  }
  return marks;
}

/** Reads a set behind its bracket as Redis does: `\]` is a bracket, `z-a` is `a-z`, and a set without an end ends with the pattern. */
function setAt(glob: string, from: number): { set: string; end: number } {
  const not = glob[from] === "^";
  let set = "";
  let at = not ? from + 1 : from;
  for (; at < glob.length && glob[at] !== "]"; at++) {
    if (glob[at] === "\\" && at + 1 < glob.length) set += unit(glob.charCodeAt(++at));
    else if (glob[at + 1] === "-" && at + 2 < glob.length) {
      const ends = [glob.charCodeAt(at), glob.charCodeAt(at + 2)];
      set += `${unit(Math.min(...ends))}-${unit(Math.max(...ends))}`;
      at += 2;
    } else set += unit(glob.charCodeAt(at));
  }
  return { set: `[${not ? "^" : ""}${set}]`, end: at };
}

const unit = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`;

function fits(mark: Exclude<Mark, "many">, key: string, at: number): boolean {
  if (typeof mark === "number") return key.charCodeAt(at) === mark;
  return mark === "one" || mark.test(key[at] as string);
}

/** The part of an election's or barrier's key that its users know as the name; any other key unchanged. */
export function plainName(lock: string): string {
  for (const prefix of [electionPrefix, doubleBarrierPrefix, barrierPrefix]) {
    if (lock.startsWith(prefix)) return unbraced(lock.slice(prefix.length));
  }
  return lock;
}

/** Knows which locks the patterns include, and for which pattern SCAN must be asked so that their side keys come too. */
export class Patterns {
  readonly #matchers: readonly ((key: string) => boolean)[];
  /** The pattern for MATCH; `null`: everything is asked for and filtered here. */
  readonly match: string | null;

  constructor(patterns: readonly string[]) {
    this.#matchers = patterns.map(globMatcher);
    const [only] = patterns;
    const wide = patterns.length === 1 && only !== undefined ? `*${only}*`.replace(/\*{2,}/g, "*") : "*";
    this.match = wide === "*" ? null : wide;
  }

  includes(lock: string): boolean {
    const name = plainName(lock);
    return this.#matchers.some((matches) => matches(name) || matches(lock));
  }
}
