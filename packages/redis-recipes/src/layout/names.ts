import { InvalidArgumentError } from "@holdfast/core";
import { slotOfKey } from "./hash-slot.js";

/**
 * Redisson's derivation of a key or channel in front of a name. It looks for the character `{` alone, not for a hash tag that
 * is well formed: `a{b` gives `P:a{b`, which a cluster keeps elsewhere than `a{b}`-like names. Never repaired here: a repaired
 * name would not meet Java. `checkClusterName` refuses what cannot work.
 */
export function prefixed(prefix: string, name: string): string {
  return name.includes("{") ? `${prefix}:${name}` : `${prefix}:{${name}}`;
}

/** Redisson's derivation of a key behind a name. See `prefixed`. */
export function suffixed(name: string, suffix: string): string {
  return name.includes("{") ? `${name}:${suffix}` : `{${name}}:${suffix}`;
}

/** The countdown latch alone adds braces always, also around a name that has some. */
export function latchChannel(name: string): string {
  return `redisson_countdownlatch__channel__{${name}}`;
}

/** Which further names an object of a kind derives, for the check of a name. */
export type NameUse = "lock" | "latch";

/**
 * Throws for a name whose derived keys a cluster would keep in another slot than the name itself: no script could touch both. Of a
 * latch that is its channel, which Java's scripts name as a key: around braces it adds its own, so names with a hash tag have it elsewhere.
 */
export function checkClusterName(name: string, use: NameUse): void {
  const slot = slotOfKey(name);
  const derived = use === "latch" ? [latchChannel(name)] : [prefixed("p", name), suffixed(name, "s")];
  if (derived.every((key) => slotOfKey(key) === slot)) return;
  const instead =
    use === "latch"
      ? "Use a name without braces for a countdown latch"
      : "Use no braces, or one well-formed hash tag such as orders:{42}";
  throw new InvalidArgumentError(
    `name ${JSON.stringify(name)} cannot be used in a Redis cluster: keys that Redisson derives from it fall into other slots. ${instead}`,
    { backend: "redis" },
  );
}
