/**
 * A decoded reply. RESP3's types become the nearest of these, as RESP2 has them: maps become arrays of alternating keys
 * and values, sets become arrays, booleans 1 and 0, doubles and big numbers text.
 */
export type RespValue = string | number | null | RespFailure | RespValue[];

/** An error that is a reply, or a part of one. */
export class RespFailure {
  /** The server's words: `WRONGTYPE Operation against a key ...`. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }

  /** The first word: `WRONGTYPE`. */
  get code(): string {
    return this.message.split(" ", 1)[0] ?? "";
  }
}

/** The kind of value of a reply; `push` is a message of RESP3 that answers no command. */
export type RespKind =
  | "string"
  | "error"
  | "integer"
  | "null"
  | "array"
  | "map"
  | "set"
  | "boolean"
  | "double"
  | "push"
  | "unknown";

const kinds: Readonly<Record<string, RespKind>> = {
  "+": "string",
  $: "string",
  "=": "string",
  "-": "error",
  "!": "error",
  ":": "integer",
  "(": "integer",
  _: "null",
  "*": "array",
  "%": "map",
  "~": "set",
  "#": "boolean",
  ",": "double",
  ">": "push",
};

/** The kind of a whole value. Attributes before it are skipped. */
export function kindOf(value: Buffer): RespKind {
  let at = 0;
  if (value[0] === "|".charCodeAt(0)) at = decodeAt(value, 0, false).end;
  const kind = kinds[String.fromCharCode(value[at] ?? 0)] ?? "unknown";
  const isNull = (kind === "string" || kind === "array") && value.toString("latin1", at + 1, at + 3) === "-1";
  return isNull ? "null" : kind;
}

/** Reads one whole value, as `RespSplitter` gives it. Text is read as UTF-8. */
export function decodeValue(bytes: Buffer): RespValue {
  return decodeAt(bytes, 0, true).value;
}

/** A command as clients send it: an array of bulk strings. */
export function encodeCommand(args: readonly (string | number | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length}\r\n`)];
  for (const arg of args) {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
  }
  return Buffer.concat(parts);
}

function decodeAt(bytes: Buffer, at: number, whole: boolean): { value: RespValue; end: number } {
  const lineEnd = bytes.indexOf("\n", at);
  const type = String.fromCharCode(bytes[at] ?? 0);
  const line = bytes.toString("utf8", at + 1, lineEnd - 1);
  const next = lineEnd + 1;
  switch (type) {
    case "$":
    case "!":
    case "=": {
      const size = Number(line);
      if (size < 0) return { value: null, end: next };
      const text = bytes.toString("utf8", next, next + size);
      const value = type === "!" ? new RespFailure(text) : type === "=" ? text.slice(4) : text;
      return { value, end: next + size + 2 };
    }
    case "*":
    case "~":
    case ">":
    case "%":
    case "|": {
      const size = Number(line) * (type === "%" || type === "|" ? 2 : 1);
      if (size < 0) return { value: null, end: next };
      const values: RespValue[] = [];
      let end = next;
      for (let index = 0; index < size; index++) {
        const element = decodeAt(bytes, end, true);
        values.push(element.value);
        end = element.end;
      }
      return type === "|" && whole ? decodeAt(bytes, end, true) : { value: values, end };
    }
    case "-":
      return { value: new RespFailure(line), end: next };
    case ":":
      return { value: Number(line), end: next };
    case "#":
      return { value: line === "t" ? 1 : 0, end: next };
    case "_":
      return { value: null, end: next };
    default:
      return { value: line, end: next };
  }
}
