import type { Script } from "./script.js";

/** The same script, its answers in other words. Made once for each script: what the line knows of one, it knows by the object. */
export function mappedScript<A, B>(script: Script<A>, map: (answer: A) => B): Script<B> {
  return { ...script, parse: (raw) => map(script.parse(raw)) };
}
