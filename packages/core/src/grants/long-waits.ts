import type { PrimitiveKind } from "../api/capabilities.js";
import type { Millis } from "../api/values.js";
import { Alarm } from "../clock/alarm-clock.js";
import type { GrantBooks, HoldRecord } from "./hold-record.js";
import { holderOf } from "./holder-of.js";

/** An acquire without a limit of time, after the backend has answered that it has to wait, or has refused it again. */
export interface LongWait {
  readonly spec: { readonly kind: PrimitiveKind; readonly name: string };
  /** When the backend answered so, or refused. Monotonic. */
  readonly queuedMs: Millis;
  /** See `AttemptListener.waiting`. */
  readonly blockedBy: Error | undefined;
  /** An error whose stack names the callers. */
  callSite(): Promise<Error | undefined>;
}

/** After this time a warning is emitted for a wait that cannot end by itself. */
const hopelessMs: Millis = 5_000;
/** After this time a warning is emitted for any wait. */
const longMs: Millis = 30_000;
/**
 * At most this many locks have a warning at a time. These warnings show what is wrong; ten thousand warnings would hide it
 * and stop the program for a second.
 */
const mostTold = 20;

/**
 * Emits one process warning for each lock that acquires wait for without a limit, for 20 locks at a time. Without it, a
 * program that waits for itself, or for something that will not happen, stands still and says nothing. One alarm serves all
 * waits. An acquire that is granted at once never gets here.
 */
export class LongWaits extends Alarm {
  readonly #engine: GrantBooks;
  /** Waits that were not checked yet, in the order of their time. */
  readonly #fresh = new Set<LongWait>();
  /** Waits that were checked after `hopelessMs`, in the order of their time. */
  readonly #looked = new Set<LongWait>();
  /** The wait for which a warning was emitted, by lock name. As long as it lasts there is no second warning for that name. */
  readonly #told = new Map<string, LongWait>();

  constructor(engine: GrantBooks) {
    super();
    this.#engine = engine;
  }

  add(wait: LongWait): void {
    this.#fresh.add(wait);
    if (this.heapIndex === -1) this.#arm();
  }

  remove(wait: LongWait): void {
    this.#fresh.delete(wait);
    this.#looked.delete(wait);
    if (this.#told.get(wait.spec.name) === wait) this.#told.delete(wait.spec.name);
  }

  ring(): void {
    const fresh = this.#due(this.#fresh, hopelessMs);
    for (const wait of fresh) this.#looked.add(wait);
    const long = this.#due(this.#looked, longMs);
    const own = this.#ownHolds([...fresh, ...long]);
    for (const wait of fresh) if (this.#mayTell(wait)) this.#lookFor(wait, own.get(keyOf(wait.spec)));
    for (const wait of long) if (this.#mayTell(wait)) void this.#tellLong(wait, own.get(keyOf(wait.spec)));
    this.#arm();
  }

  #due(waits: Set<LongWait>, afterMs: Millis): readonly LongWait[] {
    const nowMs = this.#engine.runtime.nowMs();
    const due: LongWait[] = [];
    for (const wait of waits) {
      // This is the same sum that set the alarm. A difference may be rounded in another way, and the alarm would
      // then ring for ever.
      if (wait.queuedMs + afterMs > nowMs) break;
      waits.delete(wait);
      due.push(wait);
    }
    return due;
  }

  #arm(): void {
    const [fresh] = this.#fresh;
    const [looked] = this.#looked;
    const nextMs = Math.min(
      fresh === undefined ? Infinity : fresh.queuedMs + hopelessMs,
      looked === undefined ? Infinity : looked.queuedMs + longMs,
    );
    this.#engine.alarms.set(this, nextMs);
  }

  #mayTell({ spec: { name } }: LongWait): boolean {
    return this.#told.size < mostTold && !this.#told.has(name);
  }

  #lookFor(wait: LongWait, own: HoldRecord | undefined): void {
    const { blockedBy } = wait;
    const { kind, name } = wait.spec;
    if (blockedBy !== undefined) {
      const why = `no hold of another client is known to be in the way, but this: ${blockedBy.message}`;
      const message = `acquire of "${name}" waits for more than ${hopelessMs} ms; ${why}`;
      this.#tell(wait, "HF_BLOCKED_WAIT", message);
    } else if (own !== undefined && own.grantedAtMs <= wait.queuedMs) {
      const alone = kind.endsWith("mutex") && kind !== "reentrant-mutex";
      if (alone) this.#tell(wait, "HF_SELF_WAIT", selfWait(own));
    }
  }

  async #tellLong(wait: LongWait, own: HoldRecord | undefined): Promise<void> {
    const { name } = wait.spec;
    this.#told.set(name, wait);
    const holder = await holderOf(this.#engine, wait.spec, own);
    // The wait was granted or given up while the backend was asked for the holder.
    if (this.#told.get(name) !== wait) return;
    const waitedMs = Math.round(this.#engine.runtime.nowMs() - wait.queuedMs);
    const message = `acquire of "${name}" has waited for ${waitedMs} ms, and has neither waitMs nor an end in sight; ${holder}`;
    this.#tell(wait, "HF_LONG_WAIT", message);
  }

  /**
   * Our own holds on the locks of these waits. One pass over the holds serves all waits of a turn, because there may be very
   * many of both.
   */
  #ownHolds(waits: readonly LongWait[]): ReadonlyMap<string, HoldRecord> {
    if (waits.length === 0) return new Map();
    const names = new Set(waits.map(({ spec }) => spec.name));
    const own = [...this.#engine.holds].filter(({ open, name }) => open.length > 0 && names.has(name));
    return new Map(own.map((hold) => [keyOf(hold), hold]));
  }

  #tell(wait: LongWait, code: string, told: string): void {
    const { name } = wait.spec;
    this.#told.set(name, wait);
    const last = this.#told.size === mostTold && [...this.#told.keys()].at(-1) === name;
    const rest = `; ${mostTold} such waits have a warning now, and no other lock gets one until one of them has ended`;
    const message = last ? told + rest : told;
    void wait.callSite().then((site) => {
      process.emitWarning(message, { type: "HoldfastWarning", code, detail: site?.stack });
    });
  }
}

function keyOf({ kind, name }: LongWait["spec"]): string {
  return `${kind} ${name}`;
}

function selfWait({ name, kind }: HoldRecord): string {
  return (
    `acquire of "${name}" waits for more than ${hopelessMs} ms for a ${kind} that this provider holds itself. If the code that holds it ` +
    "makes this call, it waits for ever: use reentrantMutex, or set the provider's option detectDeadlocks to get a DeadlockError"
  );
}
