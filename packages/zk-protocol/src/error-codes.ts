/**
 * The `err` field of a reply. Some never travel: ConnectionLoss and OperationTimeout are made by
 * client libraries, and no server was ever seen to send SessionExpired or SessionMoved. It closes
 * the connection instead, so nothing may wait for those two.
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

/** `NoNode` for -101; a code that is not in the table stays readable, as `Unknown(-999)`. */
export function errorName(code: number): string {
  return names.get(code) ?? `Unknown(${code})`;
}
