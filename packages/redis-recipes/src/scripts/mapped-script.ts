import type { CallScript } from "./script.js";

/** The same script, its answers in other words. Made once for each script: what the line knows of one, it knows by the object. */
export function mappedScript<G, A, B>(script: CallScript<G, A>, map: (answer: A) => B): CallScript<G, B> {
  return { ...script, parse: (raw) => map(script.parse(raw)) };
}
