import type { HistoryRecord } from "../../src/history/record.js";
import type { Unnumbered } from "../../src/workload/protocol.js";

type Bare = Unnumbered<HistoryRecord>;

/** Records as they arrive, numbered as a recorder does. */
export class Numbered {
  readonly records: HistoryRecord[] = [];
  readonly #see: (record: HistoryRecord) => void;

  constructor(see: (record: HistoryRecord) => void) {
    this.#see = see;
  }

  add(...records: Bare[]): void {
    for (const record of records) {
      const numbered = { i: this.records.length, ...record } as HistoryRecord;
      this.records.push(numbered);
      this.#see(numbered);
    }
  }
}

export const invoke = (
  p: string,
  f: "acquire" | "release" | "write",
  key: string,
  op: number,
): Extract<Bare, { type: "invoke" }> => ({ t: 1, type: "invoke", p, f, key, op });

export const granted = (p: string, key: string, op: number): Bare => ({
  t: 1,
  type: "ok",
  p,
  f: "acquire",
  key,
  op,
  ret: { hold: `${p}:${op}` },
});

export const released = (p: string, key: string, op: number, ret: { kept?: true } = {}): Bare => ({
  t: 1,
  type: "ok",
  p,
  f: "release",
  key,
  op,
  ret,
});
