export { type ErrorName, errorCodes, errorName } from "./error-codes.js";
export { InvalidPathError, ZooKeeperError } from "./errors.js";
export {
  decodeReplyHeader,
  decodeRequestHeader,
  encodeFrame,
  encodeReplyHeader,
  encodeRequestHeader,
  FrameReader,
  type ReplyHeader,
  RequestFrames,
  type RequestHeader,
  replyHeaderBytes,
  requestHeaderBytes,
  xids,
} from "./frames.js";
export {
  type ConnectRequest,
  type ConnectResponse,
  decodeConnectRequest,
  decodeConnectResponse,
  encodeConnectRequest,
  encodeConnectResponse,
} from "./handshake.js";
export { defaultMaxFrameBytes, maxRequestBytes, passwordLength } from "./limits.js";
export { ListedChildren } from "./listed-children.js";
export {
  type MultiOp,
  type MultiRequest,
  type MultiResponse,
  type MultiResult,
  multiFailure,
} from "./multi.js";
export type { MultiReadOp, MultiReadRequest, MultiReadResponse, MultiReadResult } from "./multi-read.js";
export { type Acl, openAcl, Perms, type RequestedAcl, type Stat } from "./node-records.js";
export {
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  isWrite,
  type Operations,
  type OpName,
  opCodes,
  opNameOf,
  type RequestOf,
  type ResponseOf,
} from "./operations.js";
export { baseName, isValidPath, joinPath, parentOf, validatePath } from "./paths.js";
export { ProtocolError } from "./protocol-error.js";
export * from "./records.js";
export { formatSessionId } from "./session-id.js";
export {
  decodeWatcherEvent,
  encodeWatcherEvent,
  syncConnectedState,
  WatchEventType,
  type WatcherEvent,
} from "./watcher-event.js";
