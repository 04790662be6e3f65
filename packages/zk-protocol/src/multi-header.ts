import type { Reader, Writer } from "./jute.js";
import { ProtocolError } from "./protocol-error.js";

/**
 * Lists of steps and of results have one form: before each item its type, a flag and an error code, and at the end the
 * same with the flag set. In requests, and at the end of both lists, the code is -1.
 */
export const noErr = -1;

export function writeItem(writer: Writer, type: number, err: number): void {
  writer.int(type);
  writer.bool(false);
  writer.int(err);
}

export function writeEnd(writer: Writer): void {
  writer.int(-1);
  writer.bool(true);
  writer.int(noErr);
}

/** The type of the next item, or `null` at the end. A failed item has its code in its body too, and that one is used. */
export function readItem(reader: Reader): number | null {
  const type = reader.int("multi.type");
  const done = reader.bool("multi.done");
  reader.int("multi.err");
  return done ? null : type;
}

export function refuseType(type: number): never {
  throw new ProtocolError(`multi: type ${type} has no place here`);
}
