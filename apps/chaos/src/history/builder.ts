import type { Fault, History, KeyHistory, KeyMeta } from "./history.js";
import { Operation } from "./history.js";
import { HistoryError } from "./history-error.js";
import { endByDeath, HoldBook } from "./hold-book.js";
import type {
  FaultRecord,
  HistoryRecord,
  InvokeRecord,
  MetaRecord,
  OutcomeRecord,
  WorkerRecord,
} from "./record.js";

const never = Number.POSITIVE_INFINITY;

/** The kinds of which one owner may have several holds at a time. At all others a logical thread excuses no second hold. */
const nesting: ReadonlySet<KeyMeta["kind"]> = new Set(["reentrant", "read-write"]);

/**
 * Combines records into operations and holds as they arrive. The records of one worker come in their order. Those of
 * different workers may come late (for example after a pause), so everything that compares times is done in `build`.
 */
export class HistoryBuilder {
  readonly #keys = new Map<string, KeyHistory>();
  /** The operations without an end, by worker. */
  readonly #pending = new Map<string, Map<number, Operation>>();
  readonly #holds: HoldBook = new HoldBook((hold) => this.#keys.get(hold.key)?.holds.push(hold));
  readonly #workers = new Map<string, WorkerRecord[]>();
  readonly #faults: Fault[] = [];
  /** One string for each worker instead of one for each record, to save memory. */
  readonly #words = new Map<string, string>();
  #meta: MetaRecord | null = null;
  #endedAt = 0;
  #records = 0;

  add(record: HistoryRecord, line = 0): void {
    this.#records += 1;
    if (record.t > this.#endedAt) this.#endedAt = record.t;
    if (record.type === "meta") {
      if (this.#meta !== null) throw new HistoryError(line, "a second meta record");
      this.#meta = record;
      for (const [key, meta] of Object.entries(record.keys)) {
        this.#keys.set(key, {
          key,
          meta,
          operations: [],
          holds: [],
          effects: [],
          snapshots: [],
          events: [],
        });
      }
      return;
    }
    if (this.#meta === null) throw new HistoryError(line, "the first record must be meta");
    switch (record.type) {
      case "invoke":
        this.#invoke(record, line);
        break;
      case "ok":
      case "fail":
      case "info":
        this.#outcome(record, line);
        break;
      case "event":
        this.#of(record.key, line).events.push(record);
        this.#holds.told(record);
        break;
      case "effect":
        this.#of(record.key, line).effects.push(record);
        break;
      case "snapshot":
        this.#of(record.key, line).snapshots.push(record);
        break;
      case "fault":
        this.#fault(record);
        break;
      case "worker": {
        const records = this.#workers.get(record.p);
        if (records === undefined) this.#workers.set(record.p, [record]);
        else records.push(record);
        break;
      }
    }
  }

  build(): History {
    const meta = this.#meta;
    if (meta === null) throw new HistoryError(0, "no meta record: the history is empty");
    for (const pending of this.#pending.values()) {
      for (const operation of pending.values()) {
        if (operation.f === "downgrade") this.#holds.downgradeUnanswered(operation);
      }
    }
    for (const records of this.#workers.values()) records.sort(byTime);
    for (const { holds, operations, effects, snapshots, events } of this.#keys.values()) {
      for (const hold of holds) endByDeath(hold, this.#workers.get(hold.p) ?? []);
      operations.sort((a, b) => a.invokedAt - b.invokedAt || a.invoke - b.invoke);
      holds.sort((a, b) => a.from - b.from || a.grant - b.grant);
      effects.sort(byTime);
      snapshots.sort(byTime);
      events.sort(byTime);
    }
    for (const fault of this.#faults) if (fault.to === never) fault.to = this.#endedAt;
    this.#faults.sort((a, b) => a.from - b.from);
    return {
      meta,
      keys: this.#keys,
      faults: this.#faults,
      workers: this.#workers,
      endedAt: this.#endedAt,
      records: this.#records,
    };
  }

  #invoke(record: InvokeRecord, line: number): void {
    const about = this.#of(record.key, line);
    const p = this.#word(record.p);
    let pending = this.#pending.get(p);
    if (pending === undefined) {
      pending = new Map();
      this.#pending.set(p, pending);
    }
    if (pending.has(record.op)) throw new HistoryError(line, `${p} asks op ${record.op} twice`);
    const { i, t, f, op } = record;
    const { arg = {} } = record;
    const asked = arg.thread === undefined || nesting.has(about.meta.kind) ? arg : { ...arg, thread: "" };
    const operation = new Operation({ p, f, key: about.key, op, i, t }, asked, record.hold ?? "");
    pending.set(op, operation);
    about.operations.push(operation);
    if (f === "release" && record.hold !== undefined) this.#holds.releaseAsked(record.hold, t, i);
  }

  #outcome(record: OutcomeRecord, line: number): void {
    const pending = this.#pending.get(record.p);
    const operation = pending?.get(record.op);
    if (operation === undefined) {
      throw new HistoryError(line, `${record.p} ends op ${record.op}, which it has not asked or has ended`);
    }
    if (operation.f !== record.f || operation.key !== record.key) {
      throw new HistoryError(line, `${record.p} asked op ${record.op} as ${operation.f} of ${operation.key}`);
    }
    if (record.t < operation.invokedAt) throw new HistoryError(line, "an operation ends before it was asked");
    pending?.delete(record.op);
    operation.outcome = record.type;
    operation.end = record.i;
    operation.endedAt = record.t;
    operation.count = record.ret?.count ?? -1;
    operation.kept = record.ret?.kept === true;
    operation.named = record.ret?.hold ?? "";
    if (record.type === "ok" && operation.acquires) {
      try {
        this.#holds.granted(operation, record);
      } catch (error) {
        throw new HistoryError(line, (error as Error).message);
      }
    } else if (operation.f === "release") this.#holds.released(operation, record);
    else if (operation.f === "downgrade") this.#holds.downgraded(operation, record);
  }

  #fault(record: FaultRecord): void {
    const target = record.target ?? "";
    const evident = record.evidence !== undefined && record.evidence !== null;
    if (record.phase === "begin") {
      this.#faults.push({
        name: record.f,
        target,
        begin: record,
        end: null,
        from: record.t,
        to: never,
        evident,
      });
      return;
    }
    const open = this.#faults.find(
      (fault) => fault.to === never && fault.name === record.f && (target === "" || fault.target === target),
    );
    if (open === undefined) return;
    open.to = record.t;
    open.end = record;
    open.evident ||= evident;
  }

  #of(key: string, line: number): KeyHistory {
    const about = this.#keys.get(key);
    if (about === undefined) throw new HistoryError(line, `key ${key} is not in meta`);
    return about;
  }

  #word(text: string): string {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    this.#words.set(text, text);
    return text;
  }
}

const byTime = (a: { t: number; i: number }, b: { t: number; i: number }): number => a.t - b.t || a.i - b.i;
