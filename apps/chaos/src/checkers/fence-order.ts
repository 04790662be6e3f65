import type { History, Hold, KeyHistory } from "../history/history.js";
import { Examples, seconds } from "./examples.js";
import { hasWriters } from "./kinds.js";
import type { CheckResult } from "./verdict.js";
import { faultWithin } from "./workers.js";

interface Highest {
  readonly token: bigint;
  readonly hold: Hold;
}

/**
 * Compares tokens with real time. If a grant returned before another was asked for, it must have the lower token. The
 * same applies to a write whose hold was over before the other grant returned, unless a fault may have delayed that
 * answer. No two exclusive holds share a token.
 * A read's token lies above those of all writes before it and below those of all writes after it. A nested hold repeats
 * the token of its outermost hold, and a downgraded read that of its write.
 */
export function fenceOrder(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  for (const about of history.keys.values()) {
    if (hasWriters(about)) judged += orderOf(history, about, examples);
  }
  return examples.result("fence-order", { judged, what: "tokens" });
}

function orderOf(history: History, about: KeyHistory, examples: Examples): number {
  const grants = outermostGrants(about, examples);
  const asked = [...grants].sort((a, b) => a.invokedAt - b.invokedAt);
  const seen = new Map<bigint, Hold>();
  let write: Highest | null = null;
  let read: Highest | null = null;
  let returned = 0;
  for (const hold of asked) {
    // Collect all grants that had returned before this one was asked for.
    for (
      let next = grants[returned];
      next !== undefined && next.from < hold.invokedAt;
      next = grants[++returned]
    ) {
      const token = next.token as bigint;
      if (next.mode === "write") write = higher(write, token, next);
      else read = higher(read, token, next);
    }
    const token = hold.token as bigint;
    if (write !== null && token <= write.token) wrong(about.key, write, hold, examples);
    else if (hold.mode === "write" && read !== null && token <= read.token)
      wrong(about.key, read, hold, examples);
    else if (hold.mode === "write") {
      const twin = seen.get(token);
      if (twin !== undefined) {
        examples.add(
          [twin.grant, hold.grant],
          () => `${about.key}: ${twin.p} and ${hold.p} were both granted under token ${token}`,
        );
      }
    }
    if (hold.mode === "write") seen.set(token, hold);
  }
  checkWaiters(history, about.key, grants, examples);
  return grants.length + checkDowngrades(about, examples);
}

/**
 * Compares the tokens of grants with those of writes that were held and given back while these grants were waited for.
 * Grants that were asked for after the write's grant are compared above.
 */
function checkWaiters(history: History, key: string, grants: readonly Hold[], examples: Examples): void {
  const writes = grants.filter(({ mode }) => mode === "write");
  const ended = writes.filter(({ from, to }) => to > from).sort((a, b) => a.to - b.to);
  let highest: Highest | null = null;
  let over = 0;
  for (const hold of grants) {
    for (let next = ended[over]; next !== undefined && next.to <= hold.from; next = ended[++over])
      highest = higher(highest, next.token as bigint, next);
    if (highest === null || (hold.token as bigint) > highest.token) continue;
    // Two writes with one token are found above.
    if (hold.mode === "write" && hold.token === highest.token) continue;
    if (highest.hold.from < hold.invokedAt) continue;
    if (faultWithin(history, hold.invokedAt, hold.from) === null) wrong(key, highest, hold, examples);
  }
}

/** Checks that a downgraded read has the token of its write. Returns the number of such reads. */
function checkDowngrades(about: KeyHistory, examples: Examples): number {
  let judged = 0;
  for (const read of about.holds) {
    const write = read.downgradedFrom;
    if (write === null || (write.token === null && read.token === null)) continue;
    judged += 1;
    if (read.token === write.token) continue;
    examples.add(
      [write.grant, read.grant],
      () =>
        `${about.key}: ${read.p} made its write of token ${write.token ?? "none"} a read, which bears ${read.token ?? "none"}`,
    );
  }
  return judged;
}

/**
 * The grants with tokens, in the order of their return. A nested grant is compared with its outer grant and left out.
 */
function outermostGrants(about: KeyHistory, examples: Examples): Hold[] {
  const grants: Hold[] = [];
  const open = new Map<string, Hold>();
  for (const hold of about.holds) {
    if (hold.downgradedFrom !== null) continue;
    const outer = open.get(hold.owner);
    const nested = outer !== undefined && hold.from < outer.to;
    if (nested) {
      if (outer.token !== hold.token && outer.mode === hold.mode) {
        examples.add(
          [outer.grant, hold.grant],
          () => `${about.key}: ${hold.p} got token ${hold.token} within its own hold of token ${outer.token}`,
        );
      }
      if (hold.to > outer.to) open.set(hold.owner, hold);
      continue;
    }
    open.set(hold.owner, hold);
    if (hold.token !== null) grants.push(hold);
    else if (about.meta.fenced === true) {
      examples.add(
        [hold.grant],
        () => `${about.key}: ${hold.p} was granted without a token at ${seconds(hold.from)}`,
      );
    }
  }
  return grants;
}

const higher = (before: Highest | null, token: bigint, hold: Hold): Highest =>
  before !== null && before.token >= token ? before : { token, hold };

function wrong(key: string, before: Highest, hold: Hold, examples: Examples): void {
  examples.add(
    [before.hold.grant, hold.grant],
    () =>
      `${key}: ${hold.p} asked at ${seconds(hold.invokedAt)} and got token ${hold.token}, though ${before.hold.p} ` +
      `had been granted ${before.token} at ${seconds(before.hold.from)}`,
  );
}
