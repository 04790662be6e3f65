/**
 * The codes of the `err` field of a reply. Some are never sent: client libraries make ConnectionLoss and OperationTimeout
 * themselves. No server was ever seen to send SessionExpired or SessionMoved; it closes the connection instead. So a
 * client must not wait for these two codes.
 */
export const errorCodes = {
  Ok: 0,
  SystemError: -1,
  RuntimeInconsistency: -2,
  DataInconsistency: -3,
  ConnectionLoss: -4,
  MarshallingError: -5,
  Unimplemented: -6,
  OperationTimeout: -7,
  BadArguments: -8,
  UnknownSession: -12,
  NewConfigNoQuorum: -13,
  ReconfigInProgress: -14,
  APIError: -100,
  NoNode: -101,
  NoAuth: -102,
  BadVersion: -103,
  NoChildrenForEphemerals: -108,
  NodeExists: -110,
  NotEmpty: -111,
  SessionExpired: -112,
  InvalidCallback: -113,
  InvalidACL: -114,
  AuthFailed: -115,
  SessionMoved: -118,
  NotReadOnly: -119,
  EphemeralOnLocalSession: -120,
  NoWatcher: -121,
  RequestTimeout: -122,
  ReconfigDisabled: -123,
  SaslRequired: -124,
  QuotaExceeded: -125,
  ThrottledOp: -127,
} as const;

export type ErrorName = keyof typeof errorCodes;

const names: ReadonlyMap<number, string> = new Map(
  Object.entries(errorCodes).map(([name, code]) => [code, name]),
);

/** The name of a code, such as `NoNode` for -101. A code that is not in the table becomes `Unknown(-999)`. */
export function errorName(code: number): string {
  return names.get(code) ?? `Unknown(${code})`;
}
