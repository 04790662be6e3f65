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

/**
 * The members of a group: first their names are listed, then the data of all is read in one write. While the group is
 * observed, both set watches.
 */
export class GroupWatch implements Watched<readonly GroupMember[]> {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  #changed: () => void = () => {};
  readonly #watches = new Set<WatchHandle>();
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
    this.#stopped = false;
    return () => {
      this.#stopped = true;
      this.#notOver();
      for (const watch of this.#watches) watch.remove();
      this.#watches.clear();
    };
  }

  async read(): Promise<readonly GroupMember[]> {
    const members = await this.#calls.repeat(this.#call, (context) => {
      this.#notOver();
      for (const watch of this.#watches) watch.drop();
      this.#watches.clear();
      if (!this.#stopped) this.#notOver = context.whenOver(() => this.#changed());
      return this.#look(context, true);
    });
    if (members.length === 0) await this.#calls.absent(this.#call);
    return members;
  }

  async #look(context: SessionContext, watched: boolean): Promise<Outcome<readonly GroupMember[]>> {
    const listing = await this.#children(context, watched);
    if (!listing.ok) return listing;
    const ids = [...(listing.value?.children ?? [])].sort();
    const reads: Promise<Found<ResponseOf<"getData">>>[] = [];
    for (const id of ids) reads.push(this.#data(context, joinPath(this.#call.path, id), watched));
    const members: GroupMember[] = [];
    for (const [index, read] of (await Promise.all(reads)).entries()) {
      if (!read.ok) return read;
      // The member has gone since the listing, whose watch then fires.
      if (read.value === null) continue;
      members.push({ id: ids[index] as string, data: Uint8Array.from(read.value.data ?? []) });
    }
    return { ok: true, value: members, zxid: listing.zxid };
  }

  /** A group that has had no member yet has no node. Then the creation of the node is watched. */
  async #children(context: SessionContext, watched: boolean): Promise<Found<ResponseOf<"getChildren2">>> {
    const { path } = this.#call;
    const { session } = context;
    for (;;) {
      const listing = watched
        ? await this.#armed<ResponseOf<"getChildren2">>((listener) => session.watchChildren(path, listener))
        : orAbsent(await outcomeOf(session, "getChildren2", { path, watch: false }));
      if (!watched || !listing.ok || listing.value !== null) return listing;
      const there = await this.#armed<ResponseOf<"exists"> | null>((listener) =>
        session.watchExists(path, listener),
      );
      if (!there.ok || there.value === null) return there as Found<never>;
    }
  }

  async #data(
    context: SessionContext,
    path: string,
    watched: boolean,
  ): Promise<Found<ResponseOf<"getData">>> {
    const { session } = context;
    if (watched) return this.#armed((listener) => session.watchData(path, listener));
    return orAbsent(await outcomeOf(session, "getData", { path, watch: false }));
  }

  #armed<T>(watch: (listener: WatchListener<T>) => WatchHandle): Promise<Found<T>> {
    return new Promise((resolve) => {
      const handle = watch({
        answered: (outcome) => {
          if (!outcome.ok) this.#watches.delete(handle);
          resolve(orAbsent(outcome));
        },
        fired: () => {
          this.#watches.delete(handle);
          this.#changed();
        },
      });
      if (this.#stopped) handle.remove();
      else this.#watches.add(handle);
    });
  }
}
