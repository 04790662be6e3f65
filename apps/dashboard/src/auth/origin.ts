/** What of a request tells from which page it came. */
export interface RequestOrigin {
  readonly host: string;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
}

/** Whether a page of another site had the browser send this. `none` is the user's own doing, such as a bookmark. */
export function isCrossSite({ fetchSite }: RequestOrigin): boolean {
  return fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none";
}

/** Whether a request that changes something comes from a page of ours, or from no page at all. */
export function isOwnOrigin({ host, origin, fetchSite }: RequestOrigin): boolean {
  if (fetchSite !== undefined && fetchSite !== "same-origin") return false;
  if (origin === undefined) return true;
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

/** The first header by which a request says that a proxy has passed it on. A client without one in between sends none of them. */
export function proxyHeaderOf(headers: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(headers).find((name) =>
    /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-original-(host|url|forwarded-for))$/i.test(name),
  );
}

/** Without authentication the name by which we are called is all that tells a neighbour from a page that had its name point at us. */
export function isLoopbackName(host: string): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
}
