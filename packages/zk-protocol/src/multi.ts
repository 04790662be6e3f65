import type { Reader, RecordCodec } from "./jute.js";
import { noErr, readItem, refuseType, writeEnd, writeItem } from "./multi-header.js";
import { readStat, type Stat, writeStat } from "./node-records.js";
import type { CreateRequest, CreateTTLRequest, PathVersionRequest, SetDataRequest } from "./records.js";
import { createRequest, createTTLRequest, pathVersionRequest, setDataRequest } from "./request-codecs.js";

/** One step of a transaction. */
export type MultiOp =
  | { readonly op: "create" | "create2" | "createContainer"; readonly request: CreateRequest }
  | { readonly op: "createTTL"; readonly request: CreateTTLRequest }
  | { readonly op: "delete" | "check"; readonly request: PathVersionRequest }
  | { readonly op: "setData"; readonly request: SetDataRequest };

/**
 * All steps are applied or none, under one zxid. An empty list is allowed: it is the cheapest way to get an answer from
 * the quorum.
 */
export interface MultiRequest {
  readonly ops: readonly MultiOp[];
}

/**
 * The result of one step of a transaction.
 *
 * A peculiarity: 3.8.0 answers a `create2` step as `create`, without the `Stat` (3.9.0 and 3.8.4 do not). The czxid is
 * then the zxid in the reply header. Containers and TTL nodes are answered as `create2`.
 */
export type MultiResult =
  | { readonly op: "create"; readonly path: string }
  | { readonly op: "create2"; readonly path: string; readonly stat: Stat }
  | { readonly op: "delete" | "check" }
  | { readonly op: "setData"; readonly stat: Stat }
  /** See `multiFailure`. */
  | { readonly op: "error"; readonly code: number };

/**
 * The results in the order of the steps. **The reply header of a failed transaction has `err` 0 too.** Every result is
 * then an `error`: code 0 before the step that failed, that step's own code, and RuntimeInconsistency after it.
 */
export interface MultiResponse {
  readonly results: readonly MultiResult[];
}

/**
 * The step that made a transaction fail; `undefined` when the transaction was applied. Any `error` among the results
 * means that it was not applied. If no result has a code other than 0, the first `error` counts as the failed step.
 */
export function multiFailure(response: MultiResponse): { index: number; code: number } | undefined {
  let failure: { index: number; code: number } | undefined;
  for (const [index, result] of response.results.entries()) {
    if (result.op === "error") {
      failure ??= { index, code: result.code };
      if (result.code !== 0) {
        return { index, code: result.code };
      }
    }
  }
  return failure;
}

const code = {
  create: 1,
  delete: 2,
  setData: 5,
  check: 13,
  create2: 15,
  createContainer: 19,
  createTTL: 21,
  error: -1,
} as const;

export const multiRequest: RecordCodec<MultiRequest> = {
  write(writer, record) {
    for (const step of record.ops) {
      writeItem(writer, code[step.op], noErr);
      switch (step.op) {
        case "create":
        case "create2":
        case "createContainer":
          createRequest.write(writer, step.request);
          break;
        case "createTTL":
          createTTLRequest.write(writer, step.request);
          break;
        case "delete":
        case "check":
          pathVersionRequest.write(writer, step.request);
          break;
        case "setData":
          setDataRequest.write(writer, step.request);
          break;
      }
    }
    writeEnd(writer);
  },
  read(reader) {
    const ops: MultiOp[] = [];
    for (let type = readItem(reader); type !== null; type = readItem(reader)) {
      ops.push(readStep(reader, type));
    }
    return { ops };
  },
};

function readStep(reader: Reader, type: number): MultiOp {
  switch (type) {
    case code.create:
      return { op: "create", request: createRequest.read(reader) };
    case code.create2:
      return { op: "create2", request: createRequest.read(reader) };
    case code.createContainer:
      return { op: "createContainer", request: createRequest.read(reader) };
    case code.createTTL:
      return { op: "createTTL", request: createTTLRequest.read(reader) };
    case code.delete:
      return { op: "delete", request: pathVersionRequest.read(reader) };
    case code.check:
      return { op: "check", request: pathVersionRequest.read(reader) };
    case code.setData:
      return { op: "setData", request: setDataRequest.read(reader) };
    default:
      return refuseType(type);
  }
}

export const multiResponse: RecordCodec<MultiResponse> = {
  write(writer, record) {
    for (const result of record.results) {
      writeItem(writer, code[result.op], result.op === "error" ? result.code : 0);
      switch (result.op) {
        case "create":
          writer.string(result.path);
          break;
        case "create2":
          writer.string(result.path);
          writeStat(writer, result.stat);
          break;
        case "setData":
          writeStat(writer, result.stat);
          break;
        case "error":
          writer.int(result.code);
          break;
        case "delete":
        case "check":
          break;
      }
    }
    writeEnd(writer);
  },
  read(reader) {
    const results: MultiResult[] = [];
    for (let type = readItem(reader); type !== null; type = readItem(reader)) {
      results.push(readResult(reader, type));
    }
    return { results };
  },
};

function readResult(reader: Reader, type: number): MultiResult {
  switch (type) {
    case code.create:
      return { op: "create", path: reader.string("path") };
    case code.create2:
      return { op: "create2", path: reader.string("path"), stat: readStat(reader) };
    case code.delete:
      return { op: "delete" };
    case code.check:
      return { op: "check" };
    case code.setData:
      return { op: "setData", stat: readStat(reader) };
    case code.error:
      return { op: "error", code: reader.int("multi.error") };
    default:
      return refuseType(type);
  }
}
