/**
 * The path under which the dashboard is served, with a slash at its end. It is read once: the document's URL changes
 * with the pages, and `<base>` is relative to the first one.
 */
export const base: string = new URL(".", document.baseURI).pathname;

export const apiUrl = (path: string): string => `${base}api/v1/${path}`;
