import type { CallScript } from "./script.js";

/**
 * The same script with its answers in other words; a `publishError` is kept. Call it once for each script: the line keeps what it
 * knows about a script by the script object.
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
