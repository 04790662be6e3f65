/** `0x100001643a40003`: unsigned and without leading zeros, as servers print it in logs, `cons` and `dump`. */
export function formatSessionId(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}
