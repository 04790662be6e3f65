/** The bytes do not agree with the protocol. Decoders and `FrameReader` throw nothing else, whatever bytes they get. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}
