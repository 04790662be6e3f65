/**
 * Encodes a request's name as a lock name of one segment, so that it is one node below the prefix. The standard takes any
 * string, also the empty string and lone halves of surrogate pairs.
 */
export function encodeName(name: string): string {
  // The encodings below never make a percent sign alone, so no other name becomes this one.
  if (name === "") return "%";
  if (name === "." || name === "..") return name.replaceAll(".", "%2E");
  return [...name].map(encodeCharacter).join("");
}

function encodeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return `%u${code.toString(16)}`;
  return encodeURIComponent(character);
}
