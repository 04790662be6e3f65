// The time limits of the stream of changes, for the server that sends and the page that listens.

/**
 * The server sends `hello` at this interval, in ms, so that a page can distinguish a quiet server from one that is
 * gone.
 */
export const beatMs = 5_000;
/**
 * If nothing has come for so long, in ms, a page takes the stream for lost and says so. It is two beats and the time
 * they travel.
 */
export const silenceMs = 12_000;
