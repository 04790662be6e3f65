/** Number of slots of a Redis cluster. */
export const slotCount = 16_384;

/** CRC-16/XMODEM (polynomial 0x1021, start 0), by which a cluster assigns keys to slots. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}

/**
 * The part of a key that decides its slot: the text between the first `{` and the first `}` after it. Where there is no such
 * text, or it is empty, the whole key.
 */
export function hashTag(key: string): string {
  const open = key.indexOf("{");
  if (open === -1) return key;
  const close = key.indexOf("}", open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

/** The slot of a key, as `CLUSTER KEYSLOT` gives it. */
export function slotOfKey(key: string): number {
  return crc16(Buffer.from(hashTag(key), "utf8")) % slotCount;
}
