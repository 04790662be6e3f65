// Turns the pages of the repository into those of the site: the same tree, with links that work there.
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, extname, join, normalize, relative } from "node:path";

const pictures = new Set([".png", ".svg"]);

/**
 * Copies all pages and their pictures from `root` into the folder `to`, which is deleted first. A readme becomes the index of its
 * folder. An example becomes a page that shows its program. A link to a file that is no page of the site becomes plain text.
 */
export async function stagePages(root, to) {
  await rm(to, { recursive: true, force: true });
  const files = await filesOf(root);
  for (const file of files) {
    const place = join(to, placeOf(file));
    await mkdir(dirname(place), { recursive: true });
    if (pictures.has(extname(file))) await copyFile(join(root, file), place);
    else await writeFile(place, await textOf(root, file, new Set(files)));
  }
}

/** Paths of all pages, pictures and examples, relative to `root`. */
async function filesOf(root) {
  const top = (await readdir(root)).filter((file) => file.endsWith(".md"));
  const folders = ["docs", "examples"];
  for (const kind of ["packages", "apps"])
    for (const name of await readdir(join(root, kind))) folders.push(join(kind, name));
  const below = [];
  for (const folder of folders) below.push(...(await filesBelow(root, folder)));
  return [...top, ...below];
}

async function filesBelow(root, folder) {
  const found = [];
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (["node_modules", "src", "dist", "test", "generate"].includes(entry.name)) continue;
    if (entry.isDirectory()) found.push(...(await filesBelow(root, path)));
    else if (entry.name.endsWith(".md") || pictures.has(extname(path)) || isExample(path)) found.push(path);
  }
  return found;
}

const isExample = (file) => file.startsWith("examples/") && file.endsWith(".mjs");

/** The path in the site of a file of the repository. */
function placeOf(file) {
  if (isExample(file)) return file.replace(/\.mjs$/, ".md");
  return file.replace(/(^|\/)README\.md$/, "$1index.md").replace(/^README\.zh-CN\.md$/, "zh-cn.md");
}

async function textOf(root, file, files) {
  const text = await readFile(join(root, file), "utf8");
  if (isExample(file)) return `# ${file.split("/").pop()}\n\n\`\`\`js\n${text}\`\`\`\n`;
  const parts = text.split(/(^ *```[\s\S]*?^ *```$)/m);
  const linked = parts.map((part, at) => (at % 2 === 1 ? part : relinked(root, file, part, files)));
  return (await Promise.all(linked)).join("");
}

/** Rewrites the links of a text for the site. The text must have no blocks of code. */
async function relinked(root, file, text, files) {
  let result = "";
  let end = 0;
  for (const match of text.matchAll(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g)) {
    const [whole, mark, label, link] = match;
    result += text.slice(end, match.index);
    end = match.index + whole.length;
    const target = await targetOf(root, file, link, files);
    result += target === null ? label : `${mark}[${label}](${target})`;
  }
  return result + text.slice(end);
}

/** The link's target in the site; `null` if the target is no part of the site. */
async function targetOf(root, file, link, files) {
  if (/^[a-z]+:|^#/.test(link)) return link;
  const [path, anchor = ""] = link.split("#");
  let target = normalize(join(dirname(file), path)).replace(/\/$/, "");
  if ((await stat(join(root, target))).isDirectory()) target = join(target, "README.md");
  if (!files.has(target)) return null;
  const way = relative(dirname(placeOf(file)), placeOf(target));
  return `${way.startsWith(".") ? "" : "./"}${way}${anchor === "" ? "" : `#${anchor}`}`;
}
