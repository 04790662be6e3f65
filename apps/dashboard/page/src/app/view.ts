import { visible } from "@holdfast/collectors/internal";
import { useEffect, useMemo } from "preact/hooks";
import { useLocation } from "preact-iso";
import { linkTo, parseShared, type Shared } from "../url/links.js";
import { base } from "./base.js";

export interface View extends Shared {
  readonly search: string;
  /** The path below the base, without a slash in front. */
  readonly path: string;
  href(path: string, query?: Record<string, string>): string;
  /** Goes to a page; `replace` leaves no step back. */
  go(path: string, query?: Record<string, string>, replace?: boolean): void;
}

/** The present address of the page, and links that keep what all pages share. */
export function useView(): View {
  const { url, route } = useLocation();
  return useMemo(() => {
    const { search, pathname } = new URL(url, location.origin);
    const shared = parseShared(search);
    const href = (path: string, query?: Record<string, string>) => linkTo(base, path, shared, query);
    return {
      ...shared,
      search,
      path: pathname.slice(base.length).replace(/\/+$/, ""),
      href,
      go: (path, query, replace = false) => route(href(path, query), replace),
    };
  }, [url]);
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = visible(`${title} · holdfast`);
  }, [title]);
}
