import { ListedChildren } from "@holdfast/zk-protocol";
import { numberOf, type QueueRule, zero } from "./queue-rules.js";

/** The names that were found in a listing, for the first queue node that looked at it. */
const read = new WeakMap<ListedChildren, { readonly own: string; readonly names: readonly string[] }>();

/**
 * The names of a listing by which `viewQueue` decides for `own`: `own` itself, the two names right ahead of it, and the
 * first of all. They are found in the bytes of the listing: making a text of each of some hundred names was a fifth of
 * the cost of a hand-over at its client.
 *
 * The result is all names of the listing where these few might not decide: when a child is no contender, two numbers are
 * equal, `own` is missing, or the queue does not only grow at its end. All names are also the result for every further
 * node that looks at the same listing, because the listing is then sorted once for all of them.
 */
export function namesThatDecide(
  listing: { readonly children: readonly string[] },
  own: string,
  rule: QueueRule,
): readonly string[] {
  if (!(listing instanceof ListedChildren) || !rule.appendsOnly) return listing.children;
  const before = read.get(listing);
  if (before !== undefined) return before.own === own ? before.names : listing.children;
  const names = glance(listing, own, rule.base) ?? listing.children;
  read.set(listing, { own, names });
  return names;
}

/**
 * The few names that decide, or `null` if all names have to be looked at. A name is kept as the offset at which it begins
 * in the bytes; 0 stands for no name.
 */
function glance({ bytes, namesAt, count }: ListedChildren, own: string, base: string): string[] | null {
  const ownNumber = numberOf(own, [base]);
  if (ownNumber === null) return null;
  const textOf = (at: number): string => bytes.toString("utf8", at, at + bytes.readInt32BE(at - 4));
  let ownAt = 0;
  let firstAt = 0;
  let first = -1;
  let aheadAt = 0;
  let ahead = -1;
  let twoAheadAt = 0;
  let twoAhead = -1;
  for (let i = 0, next = namesAt; i < count; i++) {
    const at = next + 4;
    next = at + bytes.readInt32BE(next);
    const number = numberIn(bytes, at, next, base);
    if (number < 0) return null;
    if (number === first || number === ahead || number === twoAhead) return null;
    if (firstAt === 0 || number < first) {
      first = number;
      firstAt = at;
    }
    if (number === ownNumber) {
      if (textOf(at) !== own) return null;
      ownAt = at;
    } else if (number < ownNumber && number > ahead) {
      twoAhead = ahead;
      twoAheadAt = aheadAt;
      ahead = number;
      aheadAt = at;
    } else if (number < ownNumber && number > twoAhead) {
      twoAhead = number;
      twoAheadAt = at;
    }
  }
  if (ownAt === 0) return null;
  const names = [own];
  if (aheadAt !== 0) names.push(textOf(aheadAt));
  if (twoAheadAt !== 0) names.push(textOf(twoAheadAt));
  if (firstAt !== ownAt && firstAt !== aheadAt && firstAt !== twoAheadAt) names.push(textOf(firstAt));
  return names;
}

/** Like `numberOf`, for a name in bytes. -1 for any other name. */
function numberIn(bytes: Buffer, at: number, end: number, base: string): number {
  const digitsAt = end - 10;
  const baseAt = digitsAt - base.length;
  if (baseAt < at) return -1;
  for (let i = 0; i < base.length; i++) if (bytes[baseAt + i] !== base.charCodeAt(i)) return -1;
  let number = 0;
  for (let i = digitsAt; i < end; i++) {
    const digit = (bytes[i] as number) - zero;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}
