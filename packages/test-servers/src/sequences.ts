/**
 * The entries of the option `sequences`, each path after all paths below it. A node that is made moves the counter of
 * its parent on, so the parent's own number has to be set last.
 */
export function deepestFirst(sequences: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(sequences).sort(([one], [other]) => other.length - one.length);
}
