import { baseName, joinPath, parentOf } from "@holdfast/zk-protocol";
import { familyOf } from "@holdfast/zk-recipes/internal";
import type { Discovery } from "../observe/collector.js";
import type { BulkReads } from "./bulk-reads.js";
import { readEphemerals } from "./connections.js";
import type { Settings } from "./options.js";
import { isNumbered } from "./place.js";
import { libraryByName } from "./rows.js";

const maxNodes = 50_000;
const maxDepth = 8;
const perRound = 2_000;

interface Group {
  readonly locks: Set<string>;
  readonly libraries: Set<string>;
}

/** Finds where locks seem to be kept: by one `dump` of a server, or without one by a walk that ends at 50,000 nodes. */
export async function discoverRoots(settings: Settings, reads: BulkReads): Promise<Discovery[]> {
  const dumped = await readEphemerals(settings);
  const groups = new Map<string, Group>();
  if (dumped !== null) for (const paths of dumped.values()) for (const path of paths) note(groups, path);
  else await walkFrom(settings.connect.chroot || "/", reads, (path) => note(groups, path));
  return [...groups]
    .map(([root, { locks, libraries }]) => ({
      root: withoutChroot(root, settings.connect.chroot),
      locks: locks.size,
      libraries: [...libraries].sort(),
    }))
    .sort((a, b) => b.locks - a.locks || (a.root < b.root ? -1 : 1));
}

function note(groups: Map<string, Group>, path: string): void {
  const name = baseName(path);
  if (!isNumbered(name)) return;
  const family = familyOf(name);
  const above = parentOf(path);
  const isPart = ["locks", "leases"].includes(baseName(above)) && above.lastIndexOf("/") > 0;
  // A queue in `locks` belongs to a semaphore, or to a lock of that name: it is reported as the more likely one, a semaphore.
  const lock = family === "semaphore" || (isPart && family === "mutex") ? parentOf(above) : above;
  const root = parentOf(lock);
  const group = groups.get(root) ?? { locks: new Set(), libraries: new Set() };
  groups.set(root, group);
  group.locks.add(lock);
  group.libraries.add(libraryByName(name));
}

async function walkFrom(top: string, reads: BulkReads, note: (path: string) => void): Promise<void> {
  let level = [top];
  let seen = 0;
  for (let depth = 0; depth < maxDepth && level.length > 0; depth++) {
    const next: string[] = [];
    for (let at = 0; at < level.length && seen < maxNodes; at += perRound) {
      const round = level.slice(at, at + perRound);
      seen += round.length;
      await reads.list(round, (path, result) => {
        if (!("children" in result)) return;
        for (const name of result.children) {
          const child = joinPath(path, name);
          if (isNumbered(name)) note(child);
          else if (child !== "/zookeeper") next.push(child);
        }
      });
    }
    level = next;
  }
}

/** Roots are configured below the chroot. A path outside of the chroot cannot be a root. */
function withoutChroot(path: string, chroot: string): string {
  if (chroot === "") return path;
  return path === chroot ? "/" : path.startsWith(`${chroot}/`) ? path.slice(chroot.length) : path;
}
