import type { Attempt, AttemptListener, Grant, GrantRequest, LockDriver } from "../api/driver.js";
import type { BackendLink } from "../api/link.js";
import type { KeptLock } from "../api/provider.js";
import type { Runtime } from "../api/runtime.js";
import type { KeepingEndReason, Millis } from "../api/values.js";
import type { AlarmClock } from "../clock/alarm-clock.js";
import { LoopTurns } from "../clock/loop-turns.js";
import type { EventHub } from "../events/event-hub.js";
import type { ResolvedProviderOptions } from "../options/provider-options.js";
import { RecentMap } from "../recent-map.js";
import type { Left } from "./hold-record.js";
import type { KeepTerms } from "./keep-terms.js";
import { type AttemptBooks, KeepableAttempt } from "./keepable-attempt.js";
import { Keeping, type KeepingBooks } from "./keeping.js";

/** What `Keepings` needs of its engine. */
interface KeepingsParts {
  readonly driver: LockDriver;
  readonly link: BackendLink;
  readonly events: EventHub;
  readonly options: ResolvedProviderOptions;
  readonly runtime: Runtime;
  readonly alarms: AlarmClock;
  readonly closing: boolean;
  trackCleaning(work: Promise<unknown>): void;
  cleanUp(left: readonly Left[], done: Promise<unknown>): void;
}

/** How many entries are deleted in one turn of the event loop, when no request waits for their deletion. */
const deletedAtOnce = 500;

/**
 * The locks that one provider keeps. It also remembers which grant of each lock was the provider's last one, because the
 * provider keeps only a lock that it got twice in a row.
 */
export class Keepings implements KeepingBooks, AttemptBooks {
  readonly #parts: KeepingsParts;
  readonly #turns: LoopTurns;
  readonly #byName = new Map<string, Keeping>();
  /** Keepings that no owner has now, the longest idle first. */
  readonly #idle = new Set<Keeping>();
  /** Keepings that ended when contact broke, and whose entries are not deleted yet. */
  readonly #undeleted = new Map<string, Keeping>();
  /** The last grants of this provider, by name; the oldest are forgotten, so that names which are used once cost nothing. */
  readonly #lastGrants: RecentMap<string, string>;

  constructor(parts: KeepingsParts) {
    this.#parts = parts;
    this.#turns = new LoopTurns(parts.runtime);
    this.#lastGrants = new RecentMap(parts.options.maxKept);
  }

  /** Like `LockDriver.attempt`. `terms`: those of each request. */
  attempt(
    terms: readonly KeepTerms[],
    requests: readonly [GrantRequest, ...GrantRequest[]],
    listener: AttemptListener,
  ): Attempt {
    const [first] = terms as readonly [KeepTerms];
    const { keepable } = requests[0];
    for (const each of terms) {
      const keeping = this.#byName.get(each.name);
      if (keepable && keeping?.lendsTo(each) === true) {
        return new KeepableAttempt(this, first, requests[0], listener).standFor(keeping);
      }
      keeping?.end("not-lendable");
      this.#undeleted.get(each.name)?.deleteEntry();
    }
    if (!keepable) return this.driver.attempt(requests, listener);
    return new KeepableAttempt(this, first, requests[0], listener).ask();
  }

  /** The ids of entries that are at the backend while no owner has them; `inspect` needs these ids. */
  idleIds(): Set<string> {
    return new Set([...this.#idle, ...this.#undeleted.values()].map(({ grant }) => grant.backendId));
  }

  list(): KeptLock[] {
    return [...this.#byName.values()].map((keeping) => keeping.describe());
  }

  /** There is contact again. Deletes the entries that are left, after the requests that have waited for contact. */
  connected(): void {
    if (this.#undeleted.size > 0)
      this.#inTurns([...this.#undeleted.values()], (keeping) => keeping.deleteEntry());
  }

  /** The provider closes. `soon`: the driver will be closed at once, and not after a grace. */
  close(soon: boolean): void {
    if (soon && this.driver.closeReleasesAll === true) {
      for (const keeping of [...this.#idle]) keeping.drop();
      return;
    }
    // The entries that an outage has left are deleted too, because after the close no new contact would delete them.
    this.#inTurns([...this.#idle, ...this.#undeleted.values()], (keeping) => {
      keeping.end("closed");
      keeping.deleteEntry();
    });
  }

  #inTurns(keepings: readonly Keeping[], act: (keeping: Keeping) => void): void {
    const step = (from: number, done: () => void): void => {
      this.#turns.after(() => {
        for (const keeping of keepings.slice(from, from + deletedAtOnce)) act(keeping);
        if (from + deletedAtOnce < keepings.length) step(from + deletedAtOnce, done);
        else done();
      });
    };
    this.#parts.trackCleaning(new Promise<void>((resolve) => step(0, resolve)));
  }

  // -------- for attempts

  get driver(): LockDriver {
    return this.#parts.driver;
  }

  get link(): BackendLink {
    return this.#parts.link;
  }

  granted(terms: KeepTerms, grant: Grant): Keeping {
    const { name } = terms;
    const { place, contended } = grant;
    const before = this.#lastGrants.get(name);
    if (place === undefined) this.#lastGrants.delete(name);
    else this.#lastGrants.set(name, place.at);
    return new Keeping(this, terms, grant, !contended && place !== undefined && before === place.after);
  }

  // -------- for keepings

  get closing(): boolean {
    return this.#parts.closing;
  }

  get maxKeepMs(): Millis {
    return this.#parts.options.maxKeepMs;
  }

  get ownersLabelled(): boolean {
    return this.#parts.options.identity;
  }

  nowMs(): Millis {
    return this.#parts.runtime.nowMs();
  }

  heardAll(): boolean {
    this.#turns.look();
    return this.#turns.fresh;
  }

  afterTurn(fn: () => void): void {
    this.#turns.after(fn);
  }

  hasRoom(): boolean {
    return this.#byName.size < this.#parts.options.maxKept || this.#idle.size > 0;
  }

  begun(keeping: Keeping): void {
    if (this.#byName.size >= this.#parts.options.maxKept) {
      for (const longestIdle of this.#idle) {
        longestIdle.end("evicted");
        break;
      }
    }
    this.#byName.set(keeping.terms.name, keeping);
  }

  idle(keeping: Keeping): void {
    this.#idle.add(keeping);
  }

  lent(keeping: Keeping): void {
    this.#idle.delete(keeping);
  }

  wakeAt(keeping: Keeping, atMs: Millis): void {
    // An alarm that is set already stays, also when it is too early: `ring()` then sets it again. So many lends
    // need only one alarm.
    if (keeping.heapIndex === -1 || atMs < keeping.atMs) this.#parts.alarms.set(keeping, atMs);
  }

  over(keeping: Keeping, undeleted: boolean): void {
    const { name } = keeping.terms;
    this.#idle.delete(keeping);
    this.#parts.alarms.clear(keeping);
    if (this.#byName.get(name) === keeping) this.#byName.delete(name);
    if (undeleted) this.#undeleted.set(name, keeping);
    else if (this.#undeleted.get(name) === keeping) this.#undeleted.delete(name);
  }

  givenBack(keeping: Keeping, done: Promise<boolean>): void {
    const { terms, owner } = keeping;
    this.#parts.cleanUp([{ kind: terms.kind, name: terms.name, owner }], done);
  }

  ended(keeping: Keeping, reason: KeepingEndReason): void {
    const { events } = this.#parts;
    if (!events.has("keeping-ended")) return;
    const { kind, name } = keeping.terms;
    const { lends, forMs } = keeping;
    // The event is emitted after the step that ended the keeping, because a listener may ask for this same lock.
    queueMicrotask(() => events.emit("keeping-ended", { kind, name, reason, lends, forMs }));
  }
}
