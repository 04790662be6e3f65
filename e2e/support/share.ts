const fullRun = process.env.HOLDFAST_FULL === "1";

/**
 * How many of `full` this run does: all of them in a full run, else `part`. Prints the share, so that a
 * reader of the log sees what a green run has and has not shown.
 */
export function share(what: string, part: number, full: number): number {
  const count = fullRun ? full : part;
  console.log(`share ${count}/${full} ${what}`);
  return count;
}
