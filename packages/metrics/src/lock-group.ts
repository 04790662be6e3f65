/**
 * The parts of a name that may vary: a segment that is a mail address; a uuid; eight or more hex digits that stand alone;
 * any other run of letters and digits with a digit in it. It is one expression, because every lock of a scrape goes through
 * it. Each part of the expression begins where a segment or a run begins, so that the cost grows only with the length of the
 * name.
 */
const variable =
  /(?<![^/:{}\s])[^/:{}\s@]+@[^/:{}\s@]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{8,}(?![0-9a-z])|(?<![0-9a-z])[a-z]*\d[0-9a-z]*/gi;
/** Such as `order17`: a word for the kind of thing, and its number. */
const wordAndNumber = /^([a-z]+)\d+$/i;
/** Such as `fab1234`, which is more likely a short hex id than a word and a number. */
const shortHex = /^[0-9a-f]{6,}$/i;
const maxLength = 64;

/**
 * The group of a lock by its name, where the operator gives no function. What varies between the locks of one purpose
 * becomes `*` (uuids, ULIDs, hex ids, mail addresses, numbers). Of more than 64 characters the last ones are kept, as whole
 * path segments where possible. `job-17` and `job-18` are both `job-*`, `order17` is `order*`. An id of letters alone looks
 * like a word and stays.
 */
export function defaultLockGroup(name: string): string {
  // Only the end of a long name is looked at, because a name of a megabyte must not cost a millisecond.
  const bounded = name.length > 1024 ? name.slice(-1024) : name;
  const shape = bounded.replace(variable, starred).replace(/^\/+/, "");
  if (shape.length <= maxLength) return shape === "" ? "/" : shape;
  const tail = shape.slice(-maxLength);
  const segment = tail.indexOf("/");
  return segment >= 0 && segment < tail.length - 1 ? tail.slice(segment + 1) : tail;
}

function starred(part: string): string {
  const word = shortHex.test(part) ? undefined : wordAndNumber.exec(part)?.[1];
  return word === undefined ? "*" : `${word}*`;
}
