/** What the tests check of Redisson's layout on a real server. The titles of a line's tests begin with `layout <number>: `. */
export const checklist: Readonly<Record<number, string>> = {
  1: "names, and those that are refused",
  2: "hash field and count",
  3: "TTL after acquire and renewal",
  4: "message text and channel of every way to end",
  5: "no message on refusal",
  6: "no result key of ours",
  7: "sweep order of the fair queue",
  8: "deadline arithmetic of the fair queue",
  9: "one key for each level of a read hold",
  10: "transitions of the mode",
  11: "permit ids of 16 bytes",
  12: "score of a permit that never expires",
  13: "pair of messages of a latch",
  14: "a decimal number in every message on a channel of Redisson's",
};
