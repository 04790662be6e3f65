import { LayoutConflictError } from "@holdfast/core";

/** The error for data of another size than all writers of this kind give it. */
function wrongSize(path: string, data: Uint8Array, bytes: number): LayoutConflictError {
  return new LayoutConflictError(
    `${path} has ${data.length} bytes where a number of ${bytes} is expected: something else is kept there`,
    { backend: "zookeeper" },
  );
}

/** Curator's `SharedCount`: 4 bytes, big-endian, signed. */
export function encodeInt(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function decodeInt(path: string, data: Uint8Array | null): number {
  if (data?.length !== 4) throw wrongSize(path, data ?? new Uint8Array(0), 4);
  return Buffer.from(data).readInt32BE();
}

/** Curator's `DistributedAtomicLong`: 8 bytes, big-endian, signed. */
export function encodeLong(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/**
 * No data reads as 0, as in Curator. Any other size than 8 bytes is refused. Curator refuses less than 8 bytes too. Of
 * longer data, such as the address that is its default data, it takes the first 8 bytes for a number.
 */
export function decodeLong(path: string, data: Uint8Array | null): bigint {
  if (data === null || data.length === 0) return 0n;
  if (data.length !== 8) throw wrongSize(path, data, 8);
  return Buffer.from(data).readBigInt64BE();
}
