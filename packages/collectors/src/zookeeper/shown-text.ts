const mostChars = 256;

/** Bytes as text for a person, at most 256 characters: what is not printable is escaped, and nothing is markup. */
export function shownText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4 * mostChars)).toString(
    "utf8",
  );
  let shown = "";
  for (const char of text) {
    const next = isPrintable(char) ? char : escaped(char);
    if (shown.length + next.length > mostChars - 1) return `${shown}…`;
    shown += next;
  }
  return shown;
}

/** False for control characters, marks of the direction of writing, and characters that take no room. */
function isPrintable(char: string): boolean {
  return char === " " || (/^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char) && char !== "\ufffd");
}

function escaped(char: string): string {
  return `\\u{${(char.codePointAt(0) as number).toString(16)}}`;
}
