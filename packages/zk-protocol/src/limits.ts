/** Bytes in a session password. An all-zero one, with session id 0, asks for a new session. */
export const passwordLength = 16;

/**
 * The longest frame a server of default settings accepts (`jute.maxbuffer`), without the four length
 * bytes. One byte more and it closes the connection without an answer.
 */
export const maxRequestBytes = 1_048_575;

/**
 * Default limit of `FrameReader`. Servers don't hold their replies to `maxRequestBytes`: the list of
 * a directory with 20,000 long names exceeds it. A client that refuses such a reply asks for it
 * again on the next connection, without end, so the limit is generous; memory is only taken for
 * bytes that have arrived.
 */
export const defaultMaxFrameBytes = 16_777_216;
