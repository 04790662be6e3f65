import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";

export const root: URL = new URL("../../../", import.meta.url);

/** A Markdown page that a reader may open. */
export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly url: URL;
}

function pagesBelow(folder: string): string[] {
  if (!existsSync(new URL(folder, root))) return [];
  return readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.includes("node_modules"))
    .map((file) => `${folder}/${file}`);
}

/** The pages of the root, of `docs` and `examples`; of each package its readme, and the pages of its `docs` and `ops`. */
export const allPages: readonly Page[] = [
  ...readdirSync(root).filter((file) => file.endsWith(".md")),
  ...pagesBelow("docs"),
  ...pagesBelow("examples"),
  ...["packages", "apps"].flatMap((kind) =>
    readdirSync(new URL(kind, root)).flatMap((name) => [
      ...(existsSync(new URL(`${kind}/${name}/README.md`, root)) ? [`${kind}/${name}/README.md`] : []),
      ...["docs", "ops"].flatMap((folder) => pagesBelow(`${kind}/${name}/${folder}`)),
    ]),
  ),
].map((path) => ({ path, url: new URL(path, root) }));

export const withoutBlocks = (text: string): string => text.replace(/^ *```[\s\S]*?^ *```/gm, "");

/** The anchor that GitHub and our site give to a heading. */
export function anchorOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

/** The links of a page to places inside the repository: the file, and the anchor if there is one. */
export function linksIn(text: string): { readonly file: string; readonly anchor: string }[] {
  const found = withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g);
  return [...found]
    .map(([, link, attribute]) => link ?? attribute ?? "")
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [file = "", anchor = ""] = link.split("#");
      return { file, anchor };
    });
}

/** The dead links of a page, as the page writes them. */
export function deadLinks({ url }: Page): string[] {
  return linksIn(readFileSync(url, "utf8")).flatMap(({ file, anchor }) => {
    const target = file === "" ? url : new URL(file, url);
    if (!existsSync(target)) return [file];
    if (anchor === "") return [];
    const page = statSync(target).isDirectory() ? new URL(`${target.href}/README.md`) : target;
    const headings = withoutBlocks(readFileSync(page, "utf8")).matchAll(/^#+ (.*)$/gm);
    return [...headings].some(([, heading = ""]) => anchorOf(heading) === anchor)
      ? []
      : [`${file}#${anchor}`];
  });
}
