/**
 * What may vary in a name: a segment that is an address of mail; a uuid; eight hex digits or more that stand alone; any other run of
 * letters and digits with a digit in it. One expression, since every lock of a scrape goes through it, and each part of it begins where a
 * segment or a run begins, so that a long name costs no more than its length.
 */
const variable =
  /(?<![^/:{}\s])[^/:{}\s@]+@[^/:{}\s@]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{8,}(?![0-9a-z])|(?<![0-9a-z])[a-z]*\d[0-9a-z]*/gi;
/** `order17`: a word that says what it is, and which one. */
const wordAndNumber = /^([a-z]+)\d+$/i;
/** Such as `fab1234`, which is rather a short hex id than the 1234th fab. */
const shortHex = /^[0-9a-f]{6,}$/i;
const maxLength = 64;

/**
 * The group of a lock by its name, where the operator gives no function: what varies between the locks of one purpose becomes `*`
 * (uuids, ULIDs, hex ids, addresses of mail, numbers), and of more than 64 characters the last are kept, whole path segments where it
 * goes. `job-17` and `job-18` are both `job-*`, `order17` is `order*`. An id of letters alone looks like a word and stays.
 */
export function defaultLockGroup(name: string): string {
  // What comes after is never looked at, and a name of a megabyte must not cost a millisecond.
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
