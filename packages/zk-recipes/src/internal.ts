// For siblings that look at the layout or need a session of their own. Not covered by semantic versioning.

export type * from "./layout/findings.js";
export { encodeSegment, LockPaths } from "./layout/lock-path.js";
export {
  candidateData,
  type ElectionLayout,
  isRevokeMessage,
  nodeData,
  readCandidateData,
  readNodeData,
  revokeMessage,
} from "./layout/node-data.js";
export { parseProtectedName, protectionPrefix } from "./layout/protected-name.js";
export {
  inQueueOrder,
  isContender,
  mutexBase,
  sequenceOf,
  sequenceRefuseFrom,
  sequenceWarnFrom,
  sortKey,
} from "./layout/queue-order.js";
export { familyOf, type LayoutFamily, recogniseKind } from "./layout/recognise.js";
export { recogniseTree } from "./layout/recognise-tree.js";
export type * from "./layout/tree.js";
export { type ConnectString, parseConnectString } from "./session/connect-string.js";
export { NotConnectedError, OutcomeUnknownError, SessionLostError } from "./session/errors.js";
export { adoptSession, openSession } from "./session/open-session.js";
export type { SessionOptions } from "./session/options.js";
export type * from "./session/types.js";
