/** A uuid; eight hex digits or more that stand alone; a number. One expression, since every lock of a scrape goes through it. */
const variable =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{8,}(?![0-9a-z])|\d+/gi;
const maxLength = 64;

/**
 * The group of a lock by its name, where the operator gives no function: what varies between the locks of one purpose becomes `*`
 * (uuids, eight hex digits or more, numbers), and of more than 64 characters the last are kept, whole path segments where it
 * goes. `job-17` and `job-18` are both `job-*`.
 */
export function defaultLockGroup(name: string): string {
  // What comes after is never looked at, and a name of a megabyte must not cost a millisecond.
  const bounded = name.length > 1024 ? name.slice(-1024) : name;
  const shape = bounded.replace(variable, "*").replace(/^\/+/, "");
  if (shape.length <= maxLength) return shape === "" ? "/" : shape;
  const tail = shape.slice(-maxLength);
  const segment = tail.indexOf("/");
  return segment >= 0 && segment < tail.length - 1 ? tail.slice(segment + 1) : tail;
}
