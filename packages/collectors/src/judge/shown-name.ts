// Characters that cannot be seen or that change how their neighbours look: control characters, marks of the direction of
// writing, characters without width, lone surrogates, unassigned code points, and all blanks but the space.
const unseen = /[\p{C}\p{DI}\u2800]|(?! )\p{White_Space}/gu;
const plain = /^[ -~]*$/;

/**
 * Text as people read it. Each character that cannot be seen is written out, such as `\u{202e}`, so that the name of a lock
 * cannot control a terminal or a page.
 */
export function visible(text: string): string {
  return plain.test(text) ? text : text.replace(unseen, written);
}

/**
 * A name in a form that a user can type. No two names look the same, because a backslash in front of `u{` is written out
 * too.
 */
export function shownName(name: string): string {
  return visible(name.replace(/\\(?=u\{)/g, written));
}

/** Turns text from `shownName` back into the name, so that a name that a user copies from the screen finds the lock again. */
export function typedName(text: string): string {
  return text.replace(/\\u\{([0-9a-f]{1,6})\}/gi, (all, hex: string) => {
    const code = Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

function written(char: string): string {
  return `\\u{${(char.codePointAt(0) as number).toString(16)}}`;
}
