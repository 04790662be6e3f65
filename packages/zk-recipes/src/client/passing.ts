import type { Millis } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";

/** A server that is too busy for a request is asked again after this time. */
export const askAgainMs: Millis = 250;

/** Whether a server that answers with `code` may well accept the same request a little later. */
export function isPassingCode(code: number): boolean {
  return code === errorCodes.ThrottledOp || code === errorCodes.OperationTimeout;
}
