// Exports for sibling packages that look at the layout or need a session of their own. Not covered by semantic versioning.

export type { ServerAddress } from "./client/library.js";
export { checkTls, tlsSocket } from "./client/tls-socket.js";
export type * from "./layout/findings.js";
export type { LayoutFinding } from "./layout/layout-finding.js";
export { encodeSegment, LockPaths } from "./layout/lock-path.js";
export { readIdentity, revokeMessage } from "./layout/node-data.js";
export {
  isContender,
  latchBase,
  leaseBase,
  mayBeKept,
  mutexBase,
  parseProtectedName,
  readBase,
  sequenceOf,
  sequenceRefuseFrom,
  sequenceWarnFrom,
  writeBase,
} from "./layout/queue-order.js";
export { familyOf, isKazooName, kindOf } from "./layout/recognise.js";
export { blockersOf, recogniseTree } from "./layout/recognise-tree.js";
export type * from "./layout/tree.js";
export { listTree, readPeople, withBlockers } from "./recipes/inspect/inspect-tree.js";
export { type ConnectString, parseConnectString } from "./session/connect-string.js";
export { NotConnectedError, OutcomeUnknownError, SessionLostError, saysNoNode } from "./session/errors.js";
export { openSession } from "./session/open-session.js";
export type { Credential } from "./session/options.js";
export type * from "./session/types.js";
