export { type Acl, openAcl, Perms, type RequestedAcl } from "./acl.js";
export { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from "./codec.js";
export { type ErrorName, errorCodes, errorName } from "./error-codes.js";
export { InvalidPathError, ZooKeeperError } from "./errors.js";
export { encodeFrame, FrameReader } from "./frames.js";
export {
  type ConnectRequest,
  type ConnectResponse,
  decodeConnectRequest,
  decodeConnectResponse,
  encodeConnectRequest,
  encodeConnectResponse,
} from "./handshake.js";
export {
  decodeReplyHeader,
  decodeRequestHeader,
  encodeReplyHeader,
  encodeRequestHeader,
  type ReplyHeader,
  type RequestHeader,
  replyHeaderBytes,
  requestHeaderBytes,
  xids,
} from "./headers.js";
export { defaultMaxFrameBytes, maxRequestBytes, passwordLength } from "./limits.js";
export {
  type MultiOp,
  type MultiRequest,
  type MultiResponse,
  type MultiResult,
  multiFailure,
} from "./multi.js";
export type { MultiReadOp, MultiReadRequest, MultiReadResponse, MultiReadResult } from "./multi-read.js";
export {
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
export type { Stat } from "./stat.js";
export {
  decodeWatcherEvent,
  encodeWatcherEvent,
  syncConnectedState,
  WatchEventType,
  type WatcherEvent,
} from "./watcher-event.js";
