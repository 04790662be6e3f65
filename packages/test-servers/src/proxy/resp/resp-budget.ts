import { Flights } from "../flights.js";
import type { RespEntry } from "./resp-entry.js";

/** What a Redis proxy has counted since it was started or reset. */
export interface RespCounts {
  /** Commands, without ignored ones. */
  commands: number;
  /**
   * Flights of all connections together. A flight is what leaves without waiting for a reply. A command opens a new
   * flight if no counted command of its connection is outstanding. It also does so if a reply has been passed on since
   * the last flight was opened, because it may depend on that reply. So the number is never less than the round trips
   * that the client waited for. It is more when a client goes on sending independent commands while replies come in.
   */
  flights: number;
  /** Messages of pub/sub, invalidations and other values that answer no command. */
  pushes: number;
  /** Commands by name: all that were seen, including ignored ones. */
  byName: Readonly<Record<string, number>>;
}

/** The commands that do not count in a budget: names, families included, or a function that decides. */
export type RespIgnored = readonly string[] | ((entry: RespEntry) => boolean);

/** Counts commands and flights. */
export class RespBudget {
  #ignore: (entry: RespEntry) => boolean;
  #flights = new Flights<RespEntry>();
  #pushes = 0;
  #byName: Record<string, number> = {};

  constructor(ignore: RespIgnored) {
    this.#ignore = toPredicate(ignore);
  }

  seen(entry: RespEntry): void {
    if (entry.kind === "push") this.#pushes++;
    if (entry.kind !== "command") return;
    this.#byName[entry.name] = (this.#byName[entry.name] ?? 0) + 1;
    if (!this.#ignore(entry)) this.#flights.left(entry);
  }

  /** The whole reply was passed on to the client. */
  answered(command: RespEntry): void {
    this.#flights.answered(command);
  }

  get counts(): RespCounts {
    const { requests, flights } = this.#flights;
    return { commands: requests, flights, pushes: this.#pushes, byName: { ...this.#byName } };
  }

  /** Starts again at zero. Commands without a reply yet are forgotten: their replies open no flight. */
  reset(ignore?: RespIgnored): void {
    if (ignore !== undefined) this.#ignore = toPredicate(ignore);
    this.#flights = new Flights();
    this.#pushes = 0;
    this.#byName = {};
  }
}

/** Whether a command's name is in `wanted`, where the name of a family stands for all its members. */
export function isNamed(name: string, wanted: ReadonlySet<string>): boolean {
  return wanted.has(name) || wanted.has(name.split(" ", 1)[0] ?? "");
}

function toPredicate(ignore: RespIgnored): (entry: RespEntry) => boolean {
  if (typeof ignore === "function") return ignore;
  const names = new Set(ignore.map((name) => name.toUpperCase()));
  return (entry) => isNamed(entry.name, names);
}
