/**
 * Bytes that are not what the protocol says. The only thing that decoders and `FrameReader` throw,
 * whatever bytes they are given.
 */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}
