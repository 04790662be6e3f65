import type { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

/** One record, both ways. */
export interface RecordCodec<T> {
  write(writer: Writer, record: T): void;
  read(reader: Reader): T;
}
