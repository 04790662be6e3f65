import type { Reader, RecordCodec } from "./jute.js";
import { noErr, readItem, refuseType, writeEnd, writeItem } from "./multi-header.js";
import { readStat, type Stat, writeStat } from "./node-records.js";
import type { PathWatchRequest } from "./records.js";
import { pathWatchRequest } from "./request-codecs.js";

/** One read of a `multiRead`. */
export interface MultiReadOp {
  readonly op: "getData" | "getChildren";
  readonly request: PathWatchRequest;
}

export interface MultiReadRequest {
  readonly ops: readonly MultiReadOp[];
}

/** The result of one read. Unlike in a transaction, each read succeeds or fails on its own. */
export type MultiReadResult =
  | { readonly op: "getData"; readonly data: Uint8Array | null; readonly stat: Stat }
  | { readonly op: "getChildren"; readonly children: string[] }
  | { readonly op: "error"; readonly code: number };

export interface MultiReadResponse {
  readonly results: readonly MultiReadResult[];
}

const code = { getData: 4, getChildren: 8, error: -1 } as const;

export const multiReadRequest: RecordCodec<MultiReadRequest> = {
  write(writer, record) {
    for (const read of record.ops) {
      writeItem(writer, code[read.op], noErr);
      pathWatchRequest.write(writer, read.request);
    }
    writeEnd(writer);
  },
  read(reader) {
    const ops: MultiReadOp[] = [];
    for (let type = readItem(reader); type !== null; type = readItem(reader)) {
      const op = type === code.getData ? "getData" : "getChildren";
      if (type !== code[op]) {
        refuseType(type);
      }
      ops.push({ op, request: pathWatchRequest.read(reader) });
    }
    return { ops };
  },
};

export const multiReadResponse: RecordCodec<MultiReadResponse> = {
  write(writer, record) {
    for (const result of record.results) {
      writeItem(writer, code[result.op], result.op === "error" ? result.code : 0);
      switch (result.op) {
        case "getData":
          writer.bytes(result.data);
          writeStat(writer, result.stat);
          break;
        case "getChildren":
          writer.strings(result.children);
          break;
        case "error":
          writer.int(result.code);
          break;
      }
    }
    writeEnd(writer);
  },
  read(reader) {
    const results: MultiReadResult[] = [];
    for (let type = readItem(reader); type !== null; type = readItem(reader)) {
      results.push(readReadResult(reader, type));
    }
    return { results };
  },
};

function readReadResult(reader: Reader, type: number): MultiReadResult {
  switch (type) {
    case code.getData:
      return { op: "getData", data: reader.bytesOrNull("data"), stat: readStat(reader) };
    case code.getChildren:
      return { op: "getChildren", children: reader.strings("children") };
    case code.error:
      return { op: "error", code: reader.int("multi.error") };
    default:
      return refuseType(type);
  }
}
