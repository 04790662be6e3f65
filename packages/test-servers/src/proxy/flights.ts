/** Something that is sent on one connection and answered there. */
export interface Travelling {
  readonly connection: number;
  /** The number of the flight on its connection, counted from 1; set when it leaves. */
  flight?: number | undefined;
}

interface ConnectionState {
  outstanding: number;
  answered: boolean;
  flight: number;
}

/**
 * Counts flights. A flight is what leaves without waiting for an answer. A request opens a new one if no request of its
 * connection is outstanding. It also does so if an answer has been passed on since the last one was opened, because it
 * may depend on that answer.
 */
export class Flights<E extends Travelling> {
  /** Requests that have left. */
  requests = 0;
  flights = 0;
  #connections = new Map<number, ConnectionState>();
  /** Entries that are not answered yet. */
  #open = new WeakSet<E>();

  left(entry: E): void {
    this.requests++;
    this.#open.add(entry);
    let state = this.#connections.get(entry.connection);
    if (state === undefined) {
      state = { outstanding: 0, answered: false, flight: 0 };
      this.#connections.set(entry.connection, state);
    }
    if (state.outstanding === 0 || state.answered) {
      state.flight++;
      state.answered = false;
      this.flights++;
    }
    state.outstanding++;
    entry.flight = state.flight;
  }

  /** The answer was passed on. Does nothing for an entry that was not counted, or that left before the last reset. */
  answered(entry: E): void {
    const state = this.#connections.get(entry.connection);
    if (state === undefined || !this.#open.delete(entry)) return;
    state.outstanding--;
    state.answered = true;
  }
}
