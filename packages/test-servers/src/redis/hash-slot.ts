/** The number of slots of a cluster. */
export const slotCount = 16_384;

/**
 * The slot of a key: CRC-16 (XMODEM) of the text in its first pair of braces, or of the whole key if there is no such
 * text.
 */
export function hashSlot(key: string): number {
  const open = key.indexOf("{");
  const close = open === -1 ? -1 : key.indexOf("}", open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % slotCount;
}
