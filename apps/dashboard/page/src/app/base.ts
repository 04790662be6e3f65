/**
 * The path under which the dashboard is served, with a slash at its end. Read once: the document's URL changes as the pages do, and
 * `<base>` is relative to what it was at first.
 */
export const base: string = new URL(".", document.baseURI).pathname;

export const apiUrl = (path: string): string => `${base}api/v1/${path}`;
