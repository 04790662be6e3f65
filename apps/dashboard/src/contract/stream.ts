// The time bounds of the stream of changes, for the server that beats and the page that listens.

/** The server says `hello` this often, in ms, so that a page can tell a quiet server from one that is gone. */
export const beatMs = 5_000;
/** A page to which nothing has come for so long, in ms, takes the stream for lost and says so: two beats and their way. */
export const silenceMs = 12_000;
