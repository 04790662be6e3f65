import { parseArgs } from "node:util";
import { exits, UsageError } from "../../cli/usage.js";
import type { Capability, Probe } from "../capability.js";
import { capabilities, isCapability, probe } from "./probe.js";

const help = `Usage: holdfast-chaos doctor [--require CAP,..] [--json]

Looks what this machine offers for scenarios, by trying each thing once. Installs nothing.
  --require CAP,..  these must be there: ${capabilities.join(", ")}
  --json            the findings as JSON

Exit: 0 nothing that is required is missing; 3 something is; 254 wrong arguments.
`;

/** The sub-command `doctor`. @throws UsageError, and the TypeError of `parseArgs` for unknown options */
export async function doctorCommand(
  args: readonly string[],
  out: (line: string) => void,
  look: () => Promise<readonly Probe[]> = probe,
): Promise<number> {
  const wanted = readArguments(args);
  if (wanted.help) {
    out(help);
    return exits.asExpected;
  }
  const probes = await look();
  if (wanted.json) out(JSON.stringify(probes, null, 2));
  else for (const line of probes.flatMap(linesOf)) out(line);
  const missing = probes.filter(({ capability, there }) => !there && wanted.required.includes(capability));
  if (missing.length === 0) return exits.asExpected;
  if (!wanted.json) out(`required, but missing: ${missing.map(({ capability }) => capability).join(", ")}`);
  return exits.missing;
}

function linesOf({ capability, there, detail, remedy }: Probe): string[] {
  const lines = [`${there ? "yes" : "no "} ${capability.padEnd(11)} ${detail}`];
  if (remedy !== undefined) lines.push(`    ${"".padEnd(11)} remedy: ${remedy}`);
  return lines;
}

function readArguments(args: readonly string[]): { required: Capability[]; json: boolean; help: boolean } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      require: { type: "string", multiple: true },
      json: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  return {
    required: (values.require ?? []).flatMap((list) => list.split(",")).map(parseCapability),
    json: values.json === true,
    help: values.help === true,
  };
}

/**
 * Reads a value of `--require`, for `doctor` and other commands.
 * @throws UsageError for a word that is no capability.
 */
export function parseCapability(text: string): Capability {
  if (isCapability(text)) return text;
  throw new UsageError(`${JSON.stringify(text)} is none of ${capabilities.join(", ")}`);
}
