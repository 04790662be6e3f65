/** Where a server runs and by what it is started, unless this process simply starts it on 127.0.0.1. */
export interface ServerPlace {
  /** The IPv4 address at which it listens and at which it is known to others; default 127.0.0.1. */
  address?: string;
  /**
   * Words in front of its command, such as `["nsenter", "--net=<file>", "--"]` or `["env", "LD_PRELOAD=<file>"]`. The
   * program that they start must become the server by `exec`, because signals go to the process that was started.
   */
  prefix?: readonly string[];
}

export const loopback = "127.0.0.1";

/** A command with the words that a place puts in front of it. */
export function commandAt(
  place: ServerPlace | undefined,
  command: string,
  args: readonly string[],
): { command: string; args: readonly string[] } {
  const [first, ...rest] = place?.prefix ?? [];
  return first === undefined ? { command, args } : { command: first, args: [...rest, command, ...args] };
}

/** @throws RangeError unless there is a place for each of `count` servers, or none at all. */
export function checkPlaces(caller: string, places: readonly ServerPlace[] | undefined, count: number): void {
  if (places !== undefined && places.length !== count) {
    throw new RangeError(`${caller}: ${places.length} places for ${count} servers`);
  }
}
