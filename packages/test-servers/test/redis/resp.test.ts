import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rewriteAddresses } from "../../src/proxy/resp/address-rewrite.js";
import { readCommand } from "../../src/proxy/resp/command-words.js";
import { RespReader } from "../../src/proxy/resp/resp-reader.js";
import { RespSplitter } from "../../src/proxy/resp/resp-splitter.js";
import { decodeValue, encodeCommand, kindOf, RespFailure } from "../../src/proxy/resp/resp-value.js";

const samples = [
  "+OK\r\n",
  "-ERR wrong\r\n",
  ":-42\r\n",
  "$0\r\n\r\n",
  "$5\r\na\r\nbc\r\n",
  "$-1\r\n",
  "*-1\r\n",
  "*0\r\n",
  "*2\r\n*1\r\n:1\r\n$3\r\n$1\r\r\n",
  "_\r\n",
  "#t\r\n",
  ",1.5\r\n",
  "(3492890328409238509324850943850943825024385\r\n",
  "!9\r\nSYNTAX no\r\n",
  "=8\r\ntxt:text\r\n",
  "%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n:2\r\n:3\r\n",
  "~2\r\n+a\r\n+b\r\n",
  ">3\r\n+message\r\n+channel\r\n$2\r\nhi\r\n",
  "|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n:2\r\n",
];

describe("splitting", () => {
  test("values come out whole and unchanged, however the stream is cut into chunks", () => {
    const value = fc.constantFrom(...samples);
    fc.assert(
      fc.property(fc.array(value, { maxLength: 20 }), fc.array(fc.nat({ max: 30 })), (values, sizes) => {
        const stream = Buffer.from(values.join(""));
        const splitter = new RespSplitter("server");
        const out: string[] = [];
        let at = 0;
        for (let index = 0; at < stream.length; index++) {
          const size = 1 + (sizes[index % (sizes.length || 1)] ?? 0);
          for (const bytes of splitter.push(stream.subarray(at, at + size))) out.push(bytes.toString());
          at += size;
        }
        expect(out).toEqual(values);
        expect(splitter.raw).toBe(false);
      }),
    );
  });

  test("a line that starts with no type is an inline command from a client, and no RESP from a server", () => {
    const client = new RespSplitter("client");
    const out = client.push(Buffer.from("PING\r\n\r\n*1\r\n$4\r\nPING\r\nGET a\n"));
    expect(out.map(String)).toEqual(["PING\r\n", "\r\n", "*1\r\n$4\r\nPING\r\n", "GET a\n"]);
    expect(client.raw).toBe(false);
    const server = new RespSplitter("server");
    expect(server.push(Buffer.from("+OK\r\nHTTP/1.1 200\r\nmore")).map(String)).toEqual([
      "+OK\r\n",
      "HTTP/1.1 200\r\nmore",
    ]);
    expect(server.raw).toBe(true);
    expect(server.push(Buffer.from("x")).map(String)).toEqual(["x"]);
  });

  test("sizes that cannot be make the stream raw instead of waiting for ever", () => {
    for (const bad of ["$99999999999\r\n", "$-2\r\n", "*x\r\n", "$EOF:abc\r\n", `+${"x".repeat(70_000)}`]) {
      const splitter = new RespSplitter("server");
      expect(splitter.push(Buffer.from(bad)).map(String)).toEqual([bad]);
      expect(splitter.raw).toBe(true);
    }
  });

  test("a stream given up in the middle of a value hands its beginning out with the rest", () => {
    const splitter = new RespSplitter("server");
    expect(splitter.push(Buffer.from("$10\r\nabc"))).toEqual([]);
    splitter.giveUp();
    expect(splitter.push(Buffer.from("def")).map(String)).toEqual(["$10\r\nabcdef"]);
  });
});

test("values are decoded, and their kinds known", () => {
  const decoded = samples.map((text) => decodeValue(Buffer.from(text)));
  expect(decoded).toEqual([
    "OK",
    new RespFailure("ERR wrong"),
    -42,
    "",
    "a\r\nbc",
    null,
    null,
    [],
    [[1], "$1\r"],
    null,
    1,
    "1.5",
    "3492890328409238509324850943850943825024385",
    new RespFailure("SYNTAX no"),
    "text",
    ["a", 1, "b", [2, 3]],
    ["a", "b"],
    ["message", "channel", "hi"],
    [1, 2],
  ]);
  expect(samples.map((text) => kindOf(Buffer.from(text)))).toEqual(
    "string error integer string string null null array array null boolean double integer error string map set push array".split(
      " ",
    ),
  );
});

describe("commands", () => {
  const read = (...words: string[]) => readCommand(encodeCommand(words));

  test.each([
    [["get", "a"], "GET", "a"],
    [["mget", "a", "b"], "MGET", "a"],
    [["ping"], "PING", undefined],
    [["wait", "1", "100"], "WAIT", undefined],
    [["client", "setinfo", "lib-name", "x"], "CLIENT SETINFO", undefined],
    [["object", "encoding", "a"], "OBJECT ENCODING", "a"],
    [["eval", "return 1", "2", "a", "b"], "EVAL", "a"],
    [["evalsha", "abc", "0", "a"], "EVALSHA", undefined],
    [["fcall", "f", "1", "a"], "FCALL", "a"],
    [["publish", "channel", "x"], "PUBLISH", "channel"],
    [["xread", "count", "2", "streams", "s", "0"], "XREAD", "s"],
  ])("%j is named and its key found", (words, name, key) => {
    expect(read(...words)).toMatchObject({ name });
    expect(read(...words)?.key).toBe(key);
  });

  test("a script has one digest, sent as text or as a digest", () => {
    const digest = createHash("sha1").update("return 1").digest("hex");
    expect(read("EVAL", "return 1", "0")?.script).toBe(digest);
    expect(read("evalsha", digest.toUpperCase(), "0")?.script).toBe(digest);
  });

  test("inline commands are read, empty ones are none", () => {
    expect(readCommand(Buffer.from(" set  a b\r\n"))).toMatchObject({ name: "SET", key: "a" });
    expect(readCommand(Buffer.from("\r\n"))).toBeUndefined();
    expect(readCommand(Buffer.from("*0\r\n"))).toBeUndefined();
  });
});

describe("replies and what answers nothing", () => {
  const reading = () => {
    const reader = new RespReader(1);
    return {
      send: (...words: string[]) => reader.command(encodeCommand(words)),
      get: (text: string) => {
        const { entry, command, last } = reader.answer(Buffer.from(text));
        return [entry.kind, entry.name, entry.key, command?.name, last];
      },
    };
  };

  test("a subscription is answered once for each channel, as an array or as a push", () => {
    for (const type of ["*", ">"]) {
      const { send, get } = reading();
      send("SUBSCRIBE", "a", "b");
      send("PING");
      expect(get(`${type}3\r\n+subscribe\r\n+a\r\n:1\r\n`)).toEqual([
        "reply",
        "SUBSCRIBE",
        "a",
        "SUBSCRIBE",
        false,
      ]);
      expect(get(`${type}3\r\n+message\r\n+a\r\n+hello\r\n`)).toEqual([
        "push",
        "message",
        "a",
        undefined,
        false,
      ]);
      expect(get(`${type}3\r\n+subscribe\r\n+b\r\n:2\r\n`)).toEqual([
        "reply",
        "SUBSCRIBE",
        "b",
        "SUBSCRIBE",
        true,
      ]);
      expect(get("*2\r\n+pong\r\n+\r\n")).toEqual(["reply", "PING", undefined, "PING", true]);
      send("UNSUBSCRIBE");
      get(`${type}3\r\n+unsubscribe\r\n+a\r\n:1\r\n`);
      expect(get(`${type}3\r\n+unsubscribe\r\n+b\r\n:0\r\n`).at(-1)).toBe(true);
    }
  });

  test("a refused subscription is answered by one error", () => {
    const { send, get } = reading();
    send("SUBSCRIBE", "a", "b");
    send("GET", "k");
    expect(get("-NOPERM no\r\n").at(-1)).toBe(true);
    expect(get("+v\r\n")).toEqual(["reply", "GET", "k", "GET", true]);
  });

  test("an array that looks like a message is a reply on a connection without subscriptions", () => {
    const { send, get } = reading();
    send("LRANGE", "l", "0", "-1");
    expect(get("*3\r\n+message\r\n+a\r\n+b\r\n")).toEqual(["reply", "LRANGE", "l", "LRANGE", true]);
  });

  test("commands that ask for silence are not waited for", () => {
    const { send, get } = reading();
    send("CLIENT", "REPLY", "SKIP");
    send("SET", "a", "1");
    send("GET", "b");
    expect(get("+v\r\n").slice(0, 3)).toEqual(["reply", "GET", "b"]);
    send("CLIENT", "REPLY", "OFF");
    send("SET", "a", "1");
    send("CLIENT", "REPLY", "ON");
    expect(get("+OK\r\n").slice(0, 2)).toEqual(["reply", "CLIENT REPLY"]);
  });

  test("an error upon nothing is unsolicited", () => {
    const { get } = reading();
    expect(get("-ERR max number of clients reached\r\n").slice(0, 2)).toEqual(["push", "unsolicited"]);
  });
});

test("ports are replaced only where an address stands", () => {
  const ports = new Map([[12_345, 23_456]]);
  const entry = {
    connection: 1,
    direction: "down",
    kind: "reply",
    bytes: 0,
    at: 0,
    fate: "forwarded",
  } as const;
  const rewrite = (name: string, text: string, error?: string) =>
    rewriteAddresses(
      { ...entry, name, ...(error === undefined ? {} : { error }) },
      Buffer.from(text),
      ports,
    ).toString();
  // Here 12345 is both a slot and a port.
  const slots = "*1\r\n*3\r\n:12345\r\n:12345\r\n*2\r\n$9\r\n127.0.0.1\r\n:12345\r\n";
  expect(rewrite("CLUSTER SLOTS", slots)).toBe(slots.replace(/12345\r\n$/, "23456\r\n"));
  expect(rewrite("GET", slots)).toBe(slots);
  expect(rewrite("GET", "-MOVED 12345 127.0.0.1:12345\r\n", "MOVED")).toBe(
    "-MOVED 12345 127.0.0.1:23456\r\n",
  );
  expect(rewrite("SENTINEL REPLICAS", "$4\r\nport\r\n$5\r\n12345\r\n")).toBe("$4\r\nport\r\n$5\r\n23456\r\n");
  expect(rewrite("INFO", "\r\nmaster_port:12345\r\nslave0:ip=127.0.0.1,port=12345,offset=12345\r\n")).toBe(
    "\r\nmaster_port:23456\r\nslave0:ip=127.0.0.1,port=23456,offset=12345\r\n",
  );
  expect(rewrite("INFO", "127.0.0.1:123456")).toBe("127.0.0.1:123456");
});
