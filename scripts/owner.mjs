// Only project.json says who owns the project, where it lies and whom to ask. This program writes the files that depend on it.
// Fields that are empty there are left out everywhere.
import { readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const place = (file) => new URL(file, root);

const help = `Usage: node scripts/owner.mjs

Reads project.json, which the owner fills, and writes what depends on it: .github/CODEOWNERS, the links above the issue
forms, and whom SECURITY.md names. Fields that are empty are left out.

  owner            user or team on GitHub, as @acme/locks
  repository       https://github.com/acme/holdfast
  homepage         of the documents
  securityContact  a mail address or page for reports; default the repository's private reports
`;

export async function readOwner() {
  return JSON.parse(await readFile(place("project.json"), "utf8"));
}

/** The owner's fields in package.json of a published package. `folder` is the workspace's folder. */
export function ownerFields({ owner, repository, homepage }, folder) {
  return {
    ...(owner !== "" && { author: owner.replace(/^@/, "") }),
    ...(repository !== "" && {
      repository: { type: "git", url: `git+${repository}.git`, directory: folder },
      bugs: `${repository}/issues`,
    }),
    ...((homepage || repository) !== "" && {
      homepage: homepage || `${repository}/tree/main/${folder}#readme`,
    }),
  };
}

/** The text of each file that depends on the owner; `null` if the file should not exist. */
export async function ownedFiles(owner) {
  const security = await readFile(place("SECURITY.md"), "utf8");
  const [before, after] = security.split(
    /(?<=written by scripts\/owner\.mjs from project\.json -->\n)[\s\S]*?(?=<!-- contact: end)/,
  );
  const links = [
    ["A vulnerability, or a wrong grant", owner.repository && `${owner.repository}/security/policy`],
    ["Documents", owner.homepage],
  ].filter(([, url]) => url);
  return {
    ".github/CODEOWNERS": owner.owner === "" ? null : `* ${owner.owner}\n`,
    ".github/ISSUE_TEMPLATE/config.yml": [
      "blank_issues_enabled: false",
      ...(links.length > 0 ? ["contact_links:"] : []),
      ...links.flatMap(([name, url]) => [
        `  - name: ${name}`,
        `    url: ${url}`,
        "    about: Please look there first",
      ]),
      "",
    ].join("\n"),
    "SECURITY.md": `${before}\n${contactOf(owner)}\n\n${after}`,
  };
}

function contactOf({ repository, securityContact }) {
  const privately = repository
    ? `Please report privately at <${repository}/security/advisories/new>`
    : 'Please do not open a public issue for what is listed under "What counts". Report it privately to\nthe owner of this repository';
  return securityContact ? `${privately}, or to <${securityContact}>.` : `${privately}.`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.length > 2) console.log(help);
  else
    for (const [file, text] of Object.entries(await ownedFiles(await readOwner())))
      await (text === null ? rm(place(file), { force: true }) : writeFile(place(file), text));
}
