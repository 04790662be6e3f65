import type { JSX } from "preact";
import { useTitle, useView } from "../app/view.js";
import { Nothing } from "../parts/states.js";

export function MissingPage(): JSX.Element {
  const view = useView();
  useTitle("No such page");
  return (
    <Nothing title="No such page" icon="search" whole>
      <p>
        <a class="button" href={view.href("")}>
          Overview
        </a>
      </p>
    </Nothing>
  );
}
