import type { Watched } from "@holdfast/core/internal";
import { joinPath, type ResponseOf } from "@holdfast/zk-protocol";
import {
  type CallInfo,
  orAbsent,
  outcomeOf,
  type RetryingRequests,
} from "../recipes/requests/retrying-requests.js";
import type { SessionContext } from "../recipes/session-context.js";
import type { Outcome, WatchHandle, WatchListener } from "../session/types.js";
import type { GroupMember } from "../values/api.js";

type Found<T> = Outcome<T | null>;

/** The key of the watch on the group itself, beside the ids of its members. No id is empty. */
const groupKey = "";

/**
 * The members of a group: first their names are listed, then the data of all is read in one write. While the group is
 * observed, both set watches. A later look lists the names again, but reads only members that are new or whose watch has
 * fired: where all members observe their group, reading everything at each change would cost the cube of their number.
 */
export class GroupWatch implements Watched<readonly GroupMember[]> {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  #changed: () => void = () => {};
  readonly #watches = new Map<string, WatchHandle>();
  /** The data of the members whose watch is armed. The server reports a change of it before a later answer shows the change. */
  readonly #known = new Map<string, Uint8Array>();
  /** The session of the watches. */
  #context: SessionContext | null = null;
  #notOver: () => void = () => {};
  /** The observer has ended: watches that a read under way still arms are removed. */
  #stopped = false;

  constructor(calls: RetryingRequests, lockName: string) {
    this.#calls = calls;
    this.#call = { lockName, path: calls.pathOf(lockName), patient: false };
  }

  async list(): Promise<readonly GroupMember[]> {
    const members = await this.#calls.repeat(this.#call, (context) => this.#look(context, false));
    if (members.length === 0) await this.#calls.absent(this.#call);
    return members;
  }

  subscribe(changed: () => void): () => void {
    this.#changed = changed;
    return () => {
      this.#stopped = true;
      this.#notOver();
      for (const watch of this.#watches.values()) watch.remove();
      this.#watches.clear();
    };
  }

  async read(): Promise<readonly GroupMember[]> {
    const members = await this.#calls.repeat(this.#call, (context) => {
      if (context !== this.#context) this.#begin(context);
      return this.#look(context, true);
    });
    if (members.length === 0) await this.#calls.absent(this.#call);
    return members;
  }

  /** Starts on a new session, which has no watches. */
  #begin(context: SessionContext): void {
    this.#notOver();
    for (const watch of this.#watches.values()) watch.drop();
    this.#watches.clear();
    this.#known.clear();
    this.#context = context;
    if (!this.#stopped) this.#notOver = context.whenOver(() => this.#changed());
  }

  async #look(context: SessionContext, watched: boolean): Promise<Outcome<readonly GroupMember[]>> {
    const listing = await this.#children(context, watched);
    if (!listing.ok) return listing;
    const ids = [...(listing.value?.children ?? [])].sort();
    const reads: Promise<Found<Uint8Array>>[] = [];
    for (const id of ids) reads.push(this.#data(context, id, watched));
    const members: GroupMember[] = [];
    for (const [index, read] of (await Promise.all(reads)).entries()) {
      if (!read.ok) return read;
      // The member has gone since the listing, whose watch then fires.
      if (read.value === null) continue;
      members.push({ id: ids[index] as string, data: Uint8Array.from(read.value) });
    }
    return { ok: true, value: members, zxid: listing.zxid };
  }

  /** A group that has had no member yet has no node. Then the creation of the node is watched. */
  async #children(context: SessionContext, watched: boolean): Promise<Found<ResponseOf<"getChildren2">>> {
    const { path } = this.#call;
    const { session } = context;
    for (;;) {
      const listing = watched
        ? await this.#armed<ResponseOf<"getChildren2">>(groupKey, (listener) =>
            session.watchChildren(path, listener),
          )
        : orAbsent(await outcomeOf(session, "getChildren2", { path, watch: false }));
      if (!watched || !listing.ok || listing.value !== null) return listing;
      const there = await this.#armed<ResponseOf<"exists"> | null>(groupKey, (listener) =>
        session.watchExists(path, listener),
      );
      if (!there.ok || there.value === null) return there as Found<never>;
    }
  }

  async #data({ session }: SessionContext, id: string, watched: boolean): Promise<Found<Uint8Array>> {
    const path = joinPath(this.#call.path, id);
    const known = this.#known.get(id);
    if (known !== undefined) return { ok: true, value: known, zxid: 0n };
    const found = watched
      ? await this.#armed<ResponseOf<"getData">>(
          id,
          (listener) => session.watchData(path, listener),
          ({ data }) => this.#known.set(id, Uint8Array.from(data ?? [])),
        )
      : orAbsent(await outcomeOf(session, "getData", { path, watch: false }));
    if (!found.ok || found.value === null) return found as Found<never>;
    return { ...found, value: found.value.data ?? new Uint8Array() };
  }

  /** `found` is called with the answer before an event can follow, which a promise of the answer may not be. */
  #armed<T>(
    key: string,
    watch: (listener: WatchListener<T>) => WatchHandle,
    found: (value: T) => void = () => {},
  ): Promise<Found<T>> {
    return new Promise((resolve) => {
      const handle = watch({
        answered: (outcome) => {
          if (outcome.ok) found(outcome.value);
          else this.#forget(key, handle);
          resolve(orAbsent(outcome));
        },
        fired: () => {
          this.#forget(key, handle);
          this.#changed();
        },
      });
      if (this.#stopped) return handle.remove();
      this.#watches.get(key)?.drop();
      this.#watches.set(key, handle);
    });
  }

  #forget(key: string, handle: WatchHandle): void {
    if (this.#watches.get(key) !== handle) return;
    this.#watches.delete(key);
    this.#known.delete(key);
  }
}
