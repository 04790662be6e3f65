/**
 * A session id as servers print it in logs, `cons` and `dump`: unsigned and without leading zeros, such as
 * `0x100001643a40003`.
 */
export function formatSessionId(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}
