/** The length of a session password in bytes. A password of zeros, with session id 0, asks for a new session. */
export const passwordLength = 16;

/**
 * The longest frame that a server with default settings accepts (`jute.maxbuffer`), without the four length bytes. With
 * one byte more, the server closes the connection without an answer.
 */
export const maxRequestBytes = 1_048_575;

/**
 * The default limit of `FrameReader`. Servers do not keep their replies below `maxRequestBytes`: the list of a directory
 * with 20,000 long names exceeds it. A client that refuses such a reply would ask for it again on every next connection,
 * without end. So the limit is generous. Memory is allocated only for bytes that have arrived.
 */
export const defaultMaxFrameBytes = 16_777_216;
