import { InvalidArgumentError } from "../api/errors.js";
import type { SharedRecord } from "../api/record.js";
import type { GrantEngine } from "../grants/engine.js";
import { show } from "../options/checks.js";
import { backendCall } from "./backend-call.js";

/** A record as a backend keeps it. */
export type RecordStore = Pick<SharedRecord, "read" | "replace">;

const mostBytes = 65_536;

/** A text that is replaced only if it is still the text that the caller has seen. */
export class RecordView implements SharedRecord {
  readonly name: string;
  readonly #engine: GrantEngine;
  readonly #store: RecordStore;

  constructor(engine: GrantEngine, name: string, store: RecordStore) {
    this.name = name;
    this.#engine = engine;
    this.#store = store;
  }

  async read(): Promise<string | null> {
    return await backendCall(this.#engine, this.name, () => this.#store.read());
  }

  async replace(seen: string | null, text: string): Promise<boolean> {
    if (seen !== null) checkText("replace: seen", seen);
    checkText("replace: text", text);
    return await backendCall(this.#engine, this.name, () => this.#store.replace(seen, text));
  }
}

function checkText(what: string, text: unknown): void {
  if (typeof text !== "string" || text === "") {
    throw new InvalidArgumentError(`${what} must be a text that is not empty; got ${show(text)}`);
  }
  // Half of a surrogate pair has no bytes of its own: the text that is read would be another one.
  if (/\p{Surrogate}/u.test(text)) {
    throw new InvalidArgumentError(
      `${what} must be well-formed Unicode; ${show(text)} has half of a surrogate pair`,
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > mostBytes) {
    throw new InvalidArgumentError(`${what} has ${bytes} bytes; a record has ${mostBytes} at most`);
  }
}
