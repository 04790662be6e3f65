import { describe, expect, it } from "vitest";
import { ProtocolCheck } from "../../src/subject/protocol-check.js";

const ms = 1e6;
const p = "w0#0";

/** A check at 10 s of its run. The worker has said `ready` and was sent `start`. */
function begun(tokens = false): ProtocolCheck {
  const check = new ProtocolCheck({ p, keys: ["k1"], tokens, named: new Set(), now: () => 10_000 * ms });
  check.heard({ say: "ready" });
  check.started();
  return check;
}

const at = (t: number, type: string, f: string, op: number, more: object = {}): object => ({
  t: t * ms,
  type,
  p,
  f,
  key: "k1",
  op,
  ...more,
});

const turn = [
  at(9_000, "invoke", "acquire", 1),
  at(9_001, "ok", "acquire", 1, { ret: { hold: "h1", token: "7" } }),
  at(9_002, "invoke", "write", 2, { hold: "h1" }),
  at(9_003, "ok", "write", 2),
  at(9_004, "invoke", "release", 3, { hold: "h1" }),
  at(9_005, "ok", "release", 3),
];

const without = (member: string, record: object): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== member));

describe("the check of a worker against the protocol", () => {
  it("finds nothing in a whole dialogue that is right", () => {
    const check = begun(true);
    for (const word of turn) check.heard(word);
    check.heard(at(9_006, "event", "lost", 0, { hold: "h1" }));
    check.stopped();
    check.heard({ say: "done" });
    check.ended(0, null);
    expect(check.problems).toEqual([]);
    expect(check).toMatchObject({ grants: 1, ready: true });
    expect(check.records).toHaveLength(7);
  });

  it("says that a worker went on while its process was stopped, and takes what was said before and after", () => {
    let nowMs = 9_000;
    const check = new ProtocolCheck({
      p,
      keys: ["k1"],
      tokens: false,
      named: new Set(),
      now: () => nowMs * ms,
    });
    check.heard({ say: "ready" });
    check.started();
    check.stands();
    check.heard(at(9_000, "invoke", "acquire", 1));
    nowMs = 9_300;
    check.heard(at(9_200, "ok", "acquire", 1, { ret: { hold: "h1" } }));
    check.goesOn();
    nowMs = 9_400;
    check.heard(at(9_301, "ok", "acquire", 1, { ret: { hold: "h1" } }));
    expect(check.problems).toHaveLength(1);
    expect(check.problems[0]).toContain(
      "went on while it was stopped: the command must become the worker itself",
    );
  });

  it("wants names of holds that no other worker has given", () => {
    const named = new Set<string>();
    for (const [each, problems] of [
      ["w0#0", 0],
      ["w1#0", 1],
    ] as const) {
      const check = new ProtocolCheck({
        p: each,
        keys: ["k1"],
        tokens: false,
        named,
        now: () => 10_000 * ms,
      });
      check.heard({ say: "ready" });
      check.started();
      check.heard({ ...at(9_000, "invoke", "acquire", 1), p: each });
      check.heard({ ...at(9_001, "ok", "acquire", 1, { ret: { hold: "1" } }), p: each });
      expect(check.problems).toHaveLength(problems);
    }
  });

  const wrong: [string, object[], string][] = [
    [
      "a write by a reader",
      [
        at(9_000, "invoke", "acquire", 1, { arg: { mode: "read" } }),
        at(9_001, "ok", "acquire", 1, { ret: { hold: "h1" } }),
        at(9_002, "invoke", "write", 2, { hold: "h1" }),
      ],
      "a read writes nothing",
    ],
    ["a line that is no object", [7 as unknown as object], "line 2: a line is one JSON object"],
    ["a word that there is not", [{ say: "hello" }], "a worker says about, ready, done or failed"],
    ["a second ready", [{ say: "ready" }], "ready is said once"],
    ["a worker that gives up", [{ say: "failed", error: "no redis" }], "the worker gave up: no redis"],
    ["a done before stop", [{ say: "done" }], "done answers stop"],
    ["another worker's name", [{ ...turn[0], p: "w1#0" }], "p is w0#0, as setup says; not w1#0"],
    [
      "the name of a key in place of its id",
      [{ ...turn[0], key: "chaos-k1" }],
      "key is an id of setup.keys (k1)",
    ],
    [
      "a time of the wall clock",
      [{ ...turn[0], t: Date.now() * ms }],
      "t is CLOCK_MONOTONIC in nanoseconds less clockBase",
    ],
    ["a time in milliseconds", [{ ...turn[0], t: 9_000 }], "t is CLOCK_MONOTONIC in nanoseconds"],
    ["no time", [without("t", turn[0] as object)], "t must be nanoseconds"],
    [
      "a type that there is not",
      [{ ...turn[0], type: "granted" }],
      "type is invoke, ok, fail, info or event",
    ],
    ["an operation that there is not", [{ ...turn[0], f: "lock" }], "unknown operation lock"],
    ["a number used twice", [turn[0], turn[0]] as object[], "op 1 was used before"],
    ["an end without a beginning", [turn[1]] as object[], "op 1 has no invoke that is open"],
    [
      "an end before its beginning",
      [turn[0], { ...turn[1], t: 8_999 * ms }] as object[],
      "t is before that of its invoke",
    ],
    [
      "an end of something else",
      [turn[0], { ...turn[1], f: "release" }] as object[],
      "op 1 was asked as acquire of k1",
    ],
    [
      "a grant without a hold",
      [turn[0], without("ret", turn[1] as object)] as object[],
      "a grant names its hold",
    ],
    ["a hold of no grant", [turn[4]] as object[], "no acquire was granted as hold h1"],
    [
      "a release without its hold",
      [...turn.slice(0, 2), without("hold", turn[4] as object)],
      "release names its hold",
    ],
    [
      "a release twice",
      [...turn, at(9_006, "invoke", "release", 4, { hold: "h1" })],
      "hold h1 was released before",
    ],
    ["a loss of no hold", [at(9_000, "event", "lost", 0)], "lost names the hold"],
  ];
  it.each(wrong)("says what is wrong with %s", (_, words, sentence) => {
    const check = begun();
    for (const word of words) check.heard(word);
    expect(check.problems).toEqual([expect.stringContaining(sentence)]);
  });

  it("wants the tokens that a worker says that it gives", () => {
    const check = begun(true);
    check.heard(turn[0]);
    check.heard(at(9_001, "ok", "acquire", 1, { ret: { hold: "h1" } }));
    expect(check.problems).toEqual([expect.stringContaining("provides.tokens is true")]);
  });

  it("wants no record before start", () => {
    const check = new ProtocolCheck({
      p,
      keys: ["k1"],
      tokens: false,
      named: new Set(),
      now: () => 10_000 * ms,
    });
    check.heard({ say: "ready" });
    check.heard(turn[0]);
    expect(check.problems).toEqual([expect.stringContaining("before start was said")]);
  });

  it("wants everything ended and given back at done, and an end of the process in order", () => {
    const check = begun();
    for (const word of turn.slice(0, 3)) check.heard(word);
    check.stopped();
    check.heard(at(11_500, "invoke", "acquire", 9));
    check.heard({ say: "done" });
    check.heard(turn[3]);
    check.ended(1, null);
    expect(check.problems).toEqual([
      expect.stringContaining("t is 11500000000, and the run is at 10000000000"),
      expect.stringContaining("write of k1 (op 2) has no ok, fail or info"),
      expect.stringContaining("h1 not released"),
      expect.stringContaining("it came after done"),
      expect.stringContaining("it ended with 1; after done it exits with 0"),
    ]);
  });

  it("wants no acquire begun long after stop", () => {
    let now = 10_000 * ms;
    const check = new ProtocolCheck({ p, keys: ["k1"], tokens: false, named: new Set(), now: () => now });
    check.heard({ say: "ready" });
    check.started();
    check.stopped();
    now = 12_000 * ms;
    check.heard(at(10_500, "invoke", "acquire", 1));
    check.heard(at(11_500, "invoke", "acquire", 2));
    expect(check.problems).toEqual([expect.stringContaining("an acquire was begun after stop was said")]);
  });
});
