/** Whether a source goes through the places in which locks are kept. Other sources only report on locks that have been found. */
export function goesThroughPlaces(source: string): boolean {
  return /^(watch|scan)\b/.test(source);
}

/** Whether the list of locks comes from a source: some locks on Redis are found by their listeners alone. */
export function listsLocks(source: string): boolean {
  return goesThroughPlaces(source) || source === "pubsub";
}
