import type { CallScript } from "./script.js";

/**
 * The same script, its answers in other words; that it could not publish stays in them. Made once for each script: what the line knows of
 * one, it knows by the object.
 */
export function mappedScript<G, A, B extends object>(
  script: CallScript<G, A>,
  map: (answer: A) => B,
): CallScript<G, B> {
  return {
    ...script,
    parse: (raw) => {
      const answer = script.parse(raw);
      const { publishError } = answer as { readonly publishError?: string };
      return publishError ? { ...map(answer), publishError } : map(answer);
    },
  };
}
