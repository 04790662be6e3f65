import { InvalidArgumentError } from "@holdfast/core";
import { slotOfKey } from "./hash-slot.js";

/**
 * Redisson's derivation of a key or channel by a prefix. Redisson looks only for the character `{`, not for a well-formed hash
 * tag: `a{b` gives `P:a{b`, which a cluster keeps elsewhere than `a{b}`-like names. This is not repaired here, since a repaired
 * name would differ from Java's. `checkClusterName` refuses names that cannot work.
 */
export function prefixed(prefix: string, name: string): string {
  return name.includes("{") ? `${prefix}:${name}` : `${prefix}:{${name}}`;
}

/** Redisson's derivation of a key by a suffix. See `prefixed`. */
export function suffixed(name: string, suffix: string): string {
  return name.includes("{") ? `${name}:${suffix}` : `{${name}}:${suffix}`;
}

/** The channel of a countdown latch. It is the only derivation that always adds braces, also around a name that has some. */
export function latchChannel(name: string): string {
  return `redisson_countdownlatch__channel__{${name}}`;
}

/** What a name is used for. It decides which further names are derived and checked. */
export type NameUse = "lock" | "latch";

/**
 * Throws for a name whose derived keys a cluster would keep in another slot than the name itself, since no script could touch
 * both. For a latch the derived key is its channel, which Java's scripts name as a key. The channel adds its own braces around
 * the name, so names with a hash tag have it in another slot.
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
