import type { Command } from "@holdfast/redis-recipes/internal";
import type { Discovery } from "../observe/collector.js";
import { keyNameOf } from "./key-names.js";
import type { Link } from "./link.js";
import { libraryOf, ownerIn } from "./owner-words.js";
import { parseReading, readingCommands } from "./reading.js";

/** The most SCAN calls for each master: they see a sample of the keys, not all of them. */
const calls = 50;
const count = 1_000;
/** The most keys of each group whose content is looked at. */
const sampled = 20;
const mostGroups = 500;

interface Group {
  size: number;
  readonly sample: string[];
  locks: number;
  readonly libraries: Set<string>;
}

/** Patterns of keys that look like locks, from a bounded look at the keys of each master; `locks` is an estimate. */
export async function discover(
  masters: readonly Link[],
  contended: Iterable<string>,
): Promise<readonly Discovery[]> {
  const found = new Map<string, Group>();
  for (const link of masters) await discoverAt(link, found);
  for (const lock of contended) {
    const group = found.get(patternOf(lock));
    if (group === undefined) {
      if (found.size < mostGroups)
        found.set(patternOf(lock), { size: 1, sample: [], locks: 1, libraries: new Set(["redisson"]) });
    } else group.locks = Math.max(1, group.locks);
  }
  return [...found]
    .filter(([, group]) => group.locks > 0)
    .map(([root, { locks, libraries }]) => ({ root, locks, libraries: [...libraries].sort() }))
    .sort((one, other) => other.locks - one.locks);
}

async function discoverAt(link: Link, found: Map<string, Group>): Promise<void> {
  const groups = new Map<string, Group>();
  let cursor = "0";
  for (let call = 0; call < calls; call++) {
    const [next, keys] = (await link.ask("scan", cursor, "count", count)) as [string, string[]];
    for (const key of keys) {
      const { lock, part } = keyNameOf(key);
      if (part !== "lock") continue;
      const pattern = patternOf(lock);
      let group = groups.get(pattern);
      if (group === undefined) {
        if (groups.size >= mostGroups) continue;
        group = { size: 0, sample: [], locks: 0, libraries: new Set() };
        groups.set(pattern, group);
      }
      group.size++;
      if (group.sample.length < sampled) group.sample.push(lock);
    }
    cursor = next;
    if (cursor === "0") break;
  }
  for (const [pattern, group] of groups) {
    const asks = group.sample.map((key) => readingCommands(key, "slim"));
    const replies = await link.send(asks.flat() as Command[]);
    let at = 0;
    let locks = 0;
    group.sample.forEach((key, index) => {
      const own = replies.slice(at, at + (asks[index] as readonly Command[]).length);
      at += own.length;
      const { shape } = parseReading(key, "slim", own, { atMs: 0, readMs: 0, blurMs: 0 });
      if (shape.is !== "lock") return;
      locks++;
      for (const { field } of shape.fields) group.libraries.add(libraryOf(ownerIn(field)));
    });
    if (locks === 0) continue;
    const estimate = Math.max(1, Math.round((group.size * locks) / Math.max(1, group.sample.length)));
    const before = found.get(pattern);
    if (before === undefined) found.set(pattern, { ...group, locks: estimate });
    else {
      before.locks += estimate;
      for (const each of group.libraries) before.libraries.add(each);
    }
  }
}

/** A name up to its last separator, and a star; a name without a separator or digits at its end stands for itself. */
function patternOf(lock: string): string {
  const plain = lock.replace(/[{}]/g, "");
  const cut = /^(.*[:/.])[^:/.]+$/s.exec(lock)?.[1] ?? /^(.*[-_])[^-_]*$/s.exec(plain)?.[1];
  const root = cut === undefined ? lock.replace(/\d+$/, "") : cut;
  const open = root.indexOf("{");
  const start = open === -1 ? root : root.slice(0, open);
  return start === lock ? lock : `${start.replace(/[*?[\]\\]/g, "\\$&")}*`;
}
