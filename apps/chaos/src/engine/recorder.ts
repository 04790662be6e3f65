import type { HistoryRecord, Nanos } from "../history/record.js";
import { HistoryWriter } from "../history/writer.js";
import type { Unnumbered } from "../workload/protocol.js";
import type { RunClock } from "./clock.js";

type Each<R> = R extends unknown ? Omit<R, "t"> : never;
/** A record of the runner itself, before it gets its number and its time. */
export type Unstamped = Each<Unnumbered<HistoryRecord>>;

type Listener = (record: HistoryRecord) => void;

/** Writes one history, in the order in which records arrive. Listeners receive each record after it got its number. */
export class Recorder {
  readonly clock: RunClock;
  readonly #writer: HistoryWriter;
  readonly #listeners: Listener[] = [];
  #next = 0;

  constructor(path: string, clock: RunClock) {
    this.clock = clock;
    this.#writer = new HistoryWriter(path);
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Adds a record that has a time stamp of its own: a worker's. */
  arrived(record: Unnumbered<HistoryRecord>): HistoryRecord {
    // A worker may send a field `i` of its own. The recorder's number replaces it.
    const i = this.#next++;
    const numbered = Object.assign({ i }, record, { i }) as HistoryRecord;
    this.#writer.write(numbered);
    for (const listener of this.#listeners) listener(numbered);
    return numbered;
  }

  /** Adds a record of the runner itself, with the present time. */
  record(record: Unstamped): Nanos {
    const t = this.clock.now();
    this.arrived({ t, ...record } as Unnumbered<HistoryRecord>);
    return t;
  }

  get count(): number {
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }
}
