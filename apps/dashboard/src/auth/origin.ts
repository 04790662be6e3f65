/** The parts of a request that tell which page it came from. */
export interface RequestOrigin {
  readonly host: string;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
}

/**
 * Whether a page of another site made the browser send this. `none` means the user did it, for instance by a bookmark.
 */
export function isCrossSite({ fetchSite }: RequestOrigin): boolean {
  return fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none";
}

/**
 * Whether a request that changes something comes from one of our pages, or from no page at all. The browser's own word
 * is enough: behind a proxy, the Host header may lack the port that the page's origin has.
 */
export function isOwnOrigin({ host, origin, fetchSite }: RequestOrigin): boolean {
  if (fetchSite !== undefined) return fetchSite === "same-origin";
  if (origin === undefined) return true;
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

/**
 * The sign that a proxy has passed a request on: the first such header, or HTTP/1.0. nginx speaks HTTP/1.0 to the
 * servers behind it if its configuration names no version. A client without a proxy in between sends none of these. A
 * proxy may also add none.
 */
export function proxySignOf(
  headers: Readonly<Record<string, unknown>>,
  httpVersion: string,
): string | undefined {
  const header = Object.keys(headers).find((name) =>
    /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-original-(host|url|forwarded-for))$/i.test(name),
  );
  if (header !== undefined) return `the header ${header}`;
  return httpVersion === "1.0" ? "HTTP/1.0" : undefined;
}

/**
 * Without authentication, only the Host header distinguishes a program on this machine from a web page elsewhere whose
 * name was pointed at our address (DNS rebinding).
 */
export function isLoopbackName(host: string): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
}
