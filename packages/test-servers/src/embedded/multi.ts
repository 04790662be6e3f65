import {
  errorCodes,
  type MultiOp,
  type MultiReadRequest,
  type MultiReadResponse,
  type MultiReadResult,
  type MultiRequest,
  type MultiResponse,
  type MultiResult,
} from "@holdfast/zk-protocol";
import { getChildren, getData } from "./reads.js";
import type { Client, State } from "./state.js";
import { check, create, type Outcome, remove, setData, type Transaction } from "./writes.js";

/**
 * Applies all steps or none. The reply to a failure has no error itself, but a code for each step: 0 before the step
 * that failed, that step's own code, and RuntimeInconsistency after it.
 */
export function multi(txn: Transaction, request: MultiRequest): MultiResponse {
  const { tree } = txn.state;
  const results: MultiResult[] = [];
  const journal: (() => void)[] = [];
  tree.journal = journal;
  try {
    for (const [culprit, step] of request.ops.entries()) {
      const result = runStep(txn, step);
      if (typeof result !== "number") {
        results.push(result);
        continue;
      }
      for (const takeBack of journal.reverse()) takeBack();
      txn.changes.length = 0;
      return {
        results: request.ops.map((_, index) => ({
          op: "error",
          code: index < culprit ? 0 : index === culprit ? result : errorCodes.RuntimeInconsistency,
        })),
      };
    }
    return { results };
  } finally {
    tree.journal = undefined;
  }
}

function runStep(txn: Transaction, step: MultiOp): Outcome<MultiResult> {
  switch (step.op) {
    case "create":
    case "create2":
    case "createContainer":
    case "createTTL": {
      const ttlMs = step.op === "createTTL" ? step.request.ttlMs : 0n;
      // Inside a transaction the flags alone decide what is made, not the operation that carries them.
      const { flags } = step.request;
      const op = flags === 4 ? "createContainer" : flags === 5 || flags === 6 ? "createTTL" : "create";
      const node = create(txn, op, step.request, ttlMs);
      if (typeof node === "number") return node;
      const bare = op === "create" && !(step.op === "create2" && txn.state.behaviour.multiCreate2HasStat);
      return bare ? { op: "create", path: node.path } : { op: "create2", path: node.path, stat: node.stat() };
    }
    case "delete":
      return remove(txn, step.request) ?? { op: "delete" };
    case "check":
      return check(txn, step.request) ?? { op: "check" };
    case "setData": {
      const node = setData(txn, step.request);
      return typeof node === "number" ? node : { op: "setData", stat: node.stat() };
    }
  }
}

/**
 * Each read is independent: if one fails, the others are still answered. Watches that the request asks for are not set.
 */
export function multiRead(state: State, client: Client, request: MultiReadRequest): MultiReadResponse {
  return {
    results: request.ops.map(({ op, request: { path } }): MultiReadResult => {
      const read = { path, watch: false };
      const outcome = op === "getData" ? getData(state, client, read) : getChildren(state, client, read);
      if (typeof outcome === "number") return { op: "error", code: outcome };
      return "children" in outcome
        ? { op: "getChildren", children: outcome.children }
        : { op: "getData", data: outcome.data, stat: outcome.stat };
    }),
  };
}
