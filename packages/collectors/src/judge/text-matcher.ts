/**
 * Makes a matcher from a part of a name, or from a glob for the whole name: `*` is anything, `?` one character. It makes no
 * regular expression, because text from a stranger must not be able to block the event loop. The work here is at most name x
 * pattern.
 */
export function textMatcher(text: string): (name: string) => boolean {
  if (text === "") return () => true;
  if (!/[*?]/.test(text)) return (name) => name.includes(text);
  const parts = text.split(/\*+/);
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (parts.length === 1) return (name) => name.length === first.length && sameAt(name, 0, first);
  const middle = parts.slice(1, -1);
  return (name) => {
    const end = name.length - last.length;
    if (end < first.length || !sameAt(name, 0, first) || !sameAt(name, end, last)) return false;
    let from = first.length;
    for (const part of middle) {
      from = find(name, part, from, end);
      if (from === -1) return false;
      from += part.length;
    }
    return true;
  };
}

function find(name: string, part: string, from: number, end: number): number {
  if (!part.includes("?")) {
    const at = name.indexOf(part, from);
    return at !== -1 && at + part.length <= end ? at : -1;
  }
  for (let at = from; at + part.length <= end; at++) if (sameAt(name, at, part)) return at;
  return -1;
}

function sameAt(name: string, at: number, part: string): boolean {
  for (let index = 0; index < part.length; index++) {
    const wanted = part[index];
    if (wanted !== "?" && wanted !== name[at + index]) return false;
  }
  return at + part.length <= name.length;
}
