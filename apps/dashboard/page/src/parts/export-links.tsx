import type { JSX } from "preact";
import { pathWith, type Query } from "../api/client.js";
import { apiUrl } from "../app/base.js";

/** Links to the whole list as a file, with the filters of the page. */
export function ExportLinks({ list, query }: { list: string; query: Query }): JSX.Element {
  return (
    <span class="exports">
      {(["csv", "json"] as const).map((format) => (
        <a
          key={format}
          class="button small"
          download
          href={apiUrl(pathWith(`export/${list}`, { ...query, format }))}
        >
          {format.toUpperCase()}
          <span class="hidden-text"> file of the list</span>
        </a>
      ))}
    </span>
  );
}
