export interface Seen {
  readonly holder: string;
  readonly name: string;
  readonly mode: string;
  readonly token: string;
}

interface Place {
  readonly permits: number | null;
  readonly inside: Set<string>;
  exclusive: number;
  highestExclusive: bigint;
  highest: bigint;
  readonly grantsOf: Map<string, number>;
}

/** Sees every hold of every worker, and records what must never happen: holds at the same time, and tokens that do not rise. */
export class Witness {
  readonly faults: string[] = [];
  readonly #places = new Map<string, Place>();

  /** `permits`: the number of permits of a semaphore; `null` for locks. */
  expect(name: string, permits: number | null): void {
    this.#places.set(name, {
      permits,
      inside: new Set(),
      exclusive: 0,
      highestExclusive: 0n,
      highest: 0n,
      grantsOf: new Map(),
    });
  }

  in({ holder, name, mode, token }: Seen): void {
    const place = this.#place(name);
    const id = `${holder} ${mode} ${token}`;
    place.inside.add(id);
    if (mode === "exclusive") place.exclusive++;
    const tooMany =
      place.permits === null
        ? place.exclusive > 0 && place.inside.size > 1
        : place.inside.size > place.permits;
    if (tooMany) this.faults.push(`${name}: at the same time hold ${[...place.inside].join(" and ")}`);
    const number = BigInt(token);
    // Readers overlap, and their tokens may come in any order among themselves. All permits count as shared.
    const before = mode === "exclusive" ? place.highest : place.highestExclusive;
    if (number <= before) this.faults.push(`${name}: the token of ${id} is not above ${before}`);
    if (mode === "exclusive") place.highestExclusive = number;
    if (number > place.highest) place.highest = number;
    const [side = ""] = holder.split(" ");
    place.grantsOf.set(side, (place.grantsOf.get(side) ?? 0) + 1);
  }

  out({ holder, name, mode, token }: Seen): void {
    const place = this.#place(name);
    place.inside.delete(`${holder} ${mode} ${token}`);
    if (mode === "exclusive") place.exclusive--;
  }

  unanswered(pid: number, error: Error): void {
    this.faults.push(`the worker ${pid} did not hear of its own hold: ${error.message}`);
  }

  grants(name: string, side: string): number {
    return this.#place(name).grantsOf.get(side) ?? 0;
  }

  #place(name: string): Place {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`the witness does not know ${name}`);
    return place;
  }
}
