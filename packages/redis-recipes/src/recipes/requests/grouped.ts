/** Puts `each` into the group of `at`, which is made when it is its first. */
export function put<K, V>(groups: Map<K, Set<V>>, at: K, each: V): void {
  const group = groups.get(at);
  if (group === undefined) groups.set(at, new Set([each]));
  else group.add(each);
}

/** Takes `each` out of the group of `at`, which goes with its last. */
export function take<K, V>(groups: Map<K, Set<V>>, at: K, each: V): void {
  const group = groups.get(at);
  if (group?.delete(each) === true && group.size === 0) groups.delete(at);
}
