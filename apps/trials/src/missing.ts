/** A library or server that this machine does not have; the message says how to get it. */
export class Missing extends Error {}
