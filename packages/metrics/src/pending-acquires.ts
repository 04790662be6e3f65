import type { LockMode, Owner, PrimitiveKind } from "@holdfast/core";
import type { GroupSeries, Pending } from "./lock-series.js";

interface AcquireKey {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly owner: Owner;
}

interface Entry extends AcquireKey {
  readonly mode: LockMode;
  readonly series: GroupSeries;
  readonly pending: Pending;
}

/**
 * The acquires of one provider that are under way. Events name the owner, not the acquire. Of two acquires of one owner for
 * one lock, the older one is assumed to settle first.
 */
export class PendingAcquires {
  readonly #ofOwner = new Map<Owner, Entry | Entry[]>();

  started(key: AcquireKey & { readonly mode: LockMode }, series: GroupSeries, pending: Pending): void {
    const { kind, name, owner, mode } = key;
    const entry: Entry = { kind, name, owner, mode, series, pending };
    series.pending.add(pending);
    const others = this.#ofOwner.get(owner);
    if (others === undefined) this.#ofOwner.set(owner, entry);
    else if (Array.isArray(others)) others.push(entry);
    else this.#ofOwner.set(owner, [others, entry]);
  }

  /** The acquire that an event is about; `undefined` for an acquire that began before we listened. */
  find(key: AcquireKey): Pending | undefined {
    const found = this.#ofOwner.get(key.owner);
    if (found === undefined) return undefined;
    if (!Array.isArray(found)) return same(found, key) ? found.pending : undefined;
    return found.find((entry) => same(entry, key))?.pending;
  }

  settled(key: AcquireKey & { readonly mode: LockMode }): Pending | undefined {
    const found = this.#ofOwner.get(key.owner);
    if (found === undefined) return undefined;
    const entries = Array.isArray(found) ? found : [found];
    const at = entries.findIndex((entry) => same(entry, key) && entry.mode === key.mode);
    const entry = entries[at];
    if (entry === undefined) return undefined;
    entry.series.pending.delete(entry.pending);
    if (entries.length === 1) this.#ofOwner.delete(key.owner);
    else entries.splice(at, 1);
    return entry.pending;
  }

  /** Drops all acquires: the events that would report their ends are no longer listened to. */
  clear(): void {
    for (const found of this.#ofOwner.values()) {
      for (const entry of Array.isArray(found) ? found : [found]) entry.series.pending.delete(entry.pending);
    }
    this.#ofOwner.clear();
  }
}

function same(entry: Entry, key: AcquireKey): boolean {
  return entry.name === key.name && entry.kind === key.kind;
}
