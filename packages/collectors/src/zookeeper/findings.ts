import { type LayoutFinding, sequenceRefuseFrom } from "@holdfast/zk-recipes/internal";
import { span } from "../judge/durations.js";
import { isSlow, kindOfLong, slowHold } from "../judge/slow-holds.js";
import { fewOfAKind, mostOfAKind } from "../kit/few-of-a-kind.js";
import { FindingTimes, type Found } from "../kit/finding-times.js";
import type { Finding, FindingKind } from "../observe/collector.js";
import { isEmptyParent, type LockBook } from "./lock-book.js";
import type { Settings } from "./options.js";
import { tokenText } from "./participants.js";
import type { Place } from "./place.js";

/**
 * A walk over all locks waits this many times as long as the walk before it took, so that even very many locks cost a
 * fiftieth of a core.
 */
const walkRest = 50;
/** A queue without a holder is normal for a moment. */
const settlesWithinMs = 5_000;
const skewFromMs = 2_000;

/** `part`: the part of the object that the finding is about, where one object may have several findings of a kind. */
type Told = Omit<Found, "id"> & { readonly part?: string };

/** The findings of this collector, each with an id that stays and the moment at which it was first seen. */
export class Findings {
  readonly #settings: Settings;
  readonly #book: LockBook;
  /** What the last walk found: the first few locks with a long hold, the first few orphaned parents, and all locks with a holder without a lease. */
  #quietPlaces: readonly Place[] = [];
  /** The number of locks that the last walk met for each kind of finding, including those beyond the first few. */
  #quietCounts: ReadonlyMap<FindingKind, number> = new Map();
  #walkAgainMs = Number.NEGATIVE_INFINITY;
  /** When each finding began, by its id. */
  #since: ReadonlyMap<string, number> = new Map();
  /** Servers whose AdminServer answers every client. */
  readonly openAdmins: Set<string> = new Set();
  /** The servers' clock minus ours, from the latest nodes whose creation an event reported; `null` before the first. */
  skewMs: number | null = null;

  constructor(settings: Settings, book: LockBook) {
    this.#settings = settings;
    this.#book = book;
  }

  /**
   * Looks anew. A queue without a holder is reported once `settlesWithinMs` have passed since the look that first found it.
   */
  look(): readonly Finding[] {
    const look = new FindingTimes(this.#settings.runtime.wallMs(), this.#since);
    // Without contact a hold may be over, so none becomes a finding only because time passes.
    const nowMs = this.#book.asOfMs;
    this.#walk(nowMs);
    const few = fewOfAKind(this.#dated(look, nowMs), this.#quietCounts);
    this.#since = look.times;
    return few;
  }

  *#dated(look: FindingTimes, nowMs: number): Generator<Finding> {
    for (const { part, ...found } of this.#all(nowMs)) {
      const id = [found.kind, found.object ?? "", part ?? ""].join(" ");
      if (look.times.has(id)) continue;
      const finding = look.date({ ...found, id });
      if (finding.kind === "queue-without-holder" && nowMs - finding.sinceMs < settlesWithinMs) continue;
      yield finding;
    }
  }

  *#all(nowMs: number): Generator<Told> {
    for (const place of this.#book.suspicious) {
      for (const finding of place.findings ?? []) yield* told(place, finding);
      if (place.tokenRegressed) yield tokenRegressed(place);
    }
    for (const place of this.#book.contended) yield* this.#stuck(place);
    for (const place of this.#quietPlaces) if (place.isLock) yield* this.#quiet(place, nowMs);
    for (const server of this.openAdmins) yield openAdmin(server);
    if (this.skewMs !== null && Math.abs(this.skewMs) >= skewFromMs) yield skewed(this.skewMs);
  }

  #walk(nowMs: number): void {
    const { runtime, longHoldMs } = this.#settings;
    const beganMs = runtime.nowMs();
    if (beganMs < this.#walkAgainMs) return;
    const places: Place[] = [];
    const counts = new Map<FindingKind, number>();
    for (const place of this.#book.mirror.places()) {
      // The first few conditions exclude nearly every place, so the walk is cheap.
      if (!place.isLock) continue;
      const kind = isSlow(place, longHoldMs, nowMs)
        ? kindOfLong(place.waiters)
        : this.#isOrphan(place, nowMs)
          ? "orphan-parent"
          : null;
      const count = kind === null ? 0 : (counts.get(kind) ?? 0) + 1;
      if (kind !== null) counts.set(kind, count);
      if ((count > 0 && count <= mostOfAKind) || leaseless(place).length > 0) places.push(place);
    }
    this.#quietPlaces = places;
    this.#quietCounts = counts;
    const nowAfterMs = runtime.nowMs();
    this.#walkAgainMs = nowAfterMs + walkRest * (nowAfterMs - beganMs);
  }

  *#stuck(place: Place): Generator<Told> {
    if (place.held.length === 0) {
      yield {
        kind: "queue-without-holder",
        severity: "warning",
        object: place.path,
        evidence: `${place.waiters} waiting and no holder.`,
        advice:
          "Look for a child that sorts before the waiters and stays; if there is none, the first waiter has not noticed that it is its turn.",
      };
    }
  }

  *#quiet(place: Place, nowMs: number): Generator<Told> {
    const { longHoldMs } = this.#settings;
    if (isSlow(place, longHoldMs, nowMs)) {
      const found = slowHold(this.#book.row(place, true), longHoldMs, nowMs);
      if (found !== null) yield found;
    }
    for (const { name } of leaseless(place)) yield noLease(place, name);
    if (this.#isOrphan(place, nowMs)) yield orphan(place, place.emptySinceMs as number);
  }

  #isOrphan(place: Place, nowMs: number): boolean {
    const { emptySinceMs } = place;
    return (
      emptySinceMs !== null && nowMs - emptySinceMs >= this.#settings.orphanAfterMs && isEmptyParent(place)
    );
  }
}

/** Holders whose node stays when its client is gone. */
function leaseless({ known, held }: Place): Place["held"] {
  return known === null ? [] : held.filter(({ name }) => known.get(name)?.stat?.ephemeralOwner === 0n);
}

function* told(place: Place, finding: LayoutFinding): Generator<Told> {
  switch (finding.type) {
    case "foreign-child":
      yield {
        kind: "foreign-child",
        severity: finding.effect === "none" ? "info" : "critical",
        object: place.path,
        part: finding.child,
        evidence: `${finding.path}/${finding.child} was made by no recipe of this lock${effectOf(finding.effect)}.`,
        advice:
          "Find out which program made it, and delete it if it is not needed. Never keep other nodes below a lock.",
      };
      return;
    case "mixed-kinds":
      yield {
        kind: "mixed-kinds",
        severity: "critical",
        object: place.path,
        evidence: `Locks of ${finding.families.join(" and ")} on one path: ${finding.children.join(", ")}.`,
        advice:
          "They do not exclude each other. Give each kind of lock, and each library, a path of its own.",
      };
      return;
    case "sequence-high":
      yield {
        kind: "sequence-high",
        severity: finding.level === "refuse" ? "critical" : "warning",
        object: place.path,
        part: finding.path,
        evidence: `The next child of ${finding.path} gets number ${finding.sequence} or later, of ${2 ** 31 - 1}.`,
        advice: `Let the lock fall idle and delete its parent, or use another path, before ${sequenceRefuseFrom}: from there on holdfast refuses, and at the end Curator lets several hold.`,
      };
      return;
    case "possible-old-downgrade":
      yield {
        kind: "old-downgrade-possible",
        severity: "warning",
        object: place.path,
        part: finding.read,
        evidence: `${finding.read} waits behind the write of its own session, as a read lock taken by the writer does up to Curator 5.4.0.`,
        advice:
          "Suspected, never certain: a reader of another thread looks the same. Update Curator to 5.5.0 or later.",
      };
      return;
    default:
  }
}

function effectOf(effect: "blocks" | "takes-permit" | "none"): string {
  if (effect === "blocks") return "; it sorts before a waiter, which waits for as long as it is there";
  return effect === "takes-permit" ? "; it counts as a permit" : "; it blocks no waiter";
}

function noLease(place: Place, name: string): Told {
  return {
    kind: "no-lease",
    severity: "warning",
    object: place.path,
    part: name,
    evidence: `${name} is not an ephemeral node: it stays when its client is gone.`,
    advice: "No recipe makes such a node. Delete it once it is clear that no program relies on it.",
  };
}

function orphan(place: Place, sinceMs: number): Told {
  return {
    kind: "orphan-parent",
    severity: "info",
    object: place.path,
    sinceMs,
    evidence: "An empty lock node that no server removes: it is not a container.",
    advice: "Clean it up once no client uses the lock any more; a client that comes later makes it anew.",
  };
}

function tokenRegressed(place: Place): Told {
  return {
    kind: "token-regressed",
    severity: "critical",
    object: place.path,
    evidence: `The token of its holder is below ${tokenText(place.lastToken ?? 0n)}, which was seen before.`,
    advice:
      "An older state was restored, or this is another ensemble. Resources that compare tokens refuse this holder: find out which.",
  };
}

function openAdmin(server: string): Told {
  return {
    kind: "unauthenticated-admin",
    severity: "warning",
    object: server,
    evidence: "Its AdminServer is open to everyone: it answers without authentication.",
    advice:
      "Set admin.serverAddress to an inner address, or admin.enableServer=false, or put it behind a proxy.",
  };
}

function skewed(skewMs: number): Told {
  return {
    kind: "clock-skew",
    severity: "warning",
    object: null,
    evidence: `The clock of the servers is ${span(Math.abs(skewMs))} ${skewMs < 0 ? "behind" : "ahead of"} that of the dashboard.`,
    advice:
      "Waits are counted from the clock of the servers and are wrong by as much: let both follow the same time source.",
  };
}
