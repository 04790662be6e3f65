// Publishes what scripts/pack.mjs makes. The workspaces themselves are never published: their files are those that our tests
// use.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packAll, published, run } from "./pack.mjs";

const help = `Usage: node scripts/publish.mjs [--registry URL] [--dry-run]

Packs all packages and publishes those whose version the registry does not have yet. For each it prints a line
"New tag: <name>@<version>", from which the release workflow makes tags.

  --registry URL   where to; default npm's own setting
  --provenance     proves which workflow has made a tarball; only inside one
  --dry-run        packs, and says what it would publish
  --debug DIR      leaves the modules with their source maps there
  --refuse         fails with this explanation: npm calls it when somebody publishes a workspace
`;

const withinMs = 300_000;

const { values } = parseArgs({
  options: {
    registry: { type: "string" },
    debug: { type: "string" },
    provenance: { type: "boolean" },
    "dry-run": { type: "boolean" },
    refuse: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  },
});

if (values.help) console.log(help);
else if (values.refuse) {
  console.error("The packages are published by node scripts/publish.mjs, which bundles them first.");
  process.exitCode = 1;
} else await publish();

async function publish() {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-publish-"));
  const registry = values.registry === undefined ? [] : ["--registry", values.registry];
  try {
    const tarballs = await packAll(folder);
    for (const { name, manifest } of await published()) {
      const tag = `${name}@${manifest.version}`;
      if (await isThere(tag, registry)) {
        console.log(`there already: ${tag}`);
        continue;
      }
      if (!values["dry-run"]) {
        const provenance = values.provenance ? ["--provenance"] : [];
        const command = ["publish", tarballs.get(name), "--access", "public", ...provenance, ...registry];
        await run("npm", command, { cwd: folder, withinMs });
      }
      console.log(`${values["dry-run"] ? "would publish" : "New tag:"} ${tag}`);
    }
    if (values.debug !== undefined) await cp(join(folder, "debug"), values.debug, { recursive: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * False only if the registry says that there is no such version. Any other error ends the run before anything else is
 * published.
 */
async function isThere(tag, registry) {
  // If npm itself was started with --silent, this call would inherit that and not print its error code either.
  const view = ["view", tag, "version", "--loglevel=error", ...registry];
  try {
    return (await run("npm", view, { cwd: tmpdir(), withinMs })).trim() !== "";
  } catch (error) {
    if (error.message.includes("E404")) return false;
    throw error;
  }
}
