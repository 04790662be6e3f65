/** Whether a source goes through the places in which locks are kept. Other sources only report on locks that have been found. */
export function goesThroughPlaces(source: string): boolean {
  return /^(watch|scan)\b/.test(source);
}

/** Whether a source can add locks to the list. Some locks on Redis are found only through their listeners. */
export function listsLocks(source: string): boolean {
  return goesThroughPlaces(source) || source === "pubsub";
}
