import type { Command } from "../command.js";
import { type Check, checksOf } from "./checks.js";
import { printJson } from "./json.js";
import { visible } from "./words.js";

export const doctor: Command = {
  name: "doctor",
  summary: "checks the configuration and the backend, step by step",
  usage: `Usage: holdfast doctor [--json]

Looks whether locks work with this configuration and what endangers them: names, ports, versions, rights, times, clocks,
what the servers say of themselves, and a lock of its own that is taken and given back. Each step is a line with ok,
warning or failed, and what to do. The exit code is 0 only where nothing failed.

  --json   one document`,
  options: {},
  run: async (given, io) => {
    const checks: Check[] = [];
    const json = given.values.json === true;
    for await (const check of checksOf(given.settings, io.signal)) {
      checks.push(check);
      if (!json) io.out(`${lineOf(check)}\n`);
    }
    const failed = checks.filter(({ status }) => status === "failed").length;
    const warned = checks.filter(({ status }) => status === "warning").length;
    if (json) printJson(io, { ok: failed === 0, checks });
    else io.out(`\n${failed} failed, ${warned} with a warning, ${checks.length - failed - warned} ok\n`);
    return failed === 0 ? 0 : 1;
  },
};

function lineOf({ status, name, found, advice }: Check): string {
  const line = `${status.padEnd(7)}  ${name.padEnd(14)}  ${visible(found)}`;
  return advice === null ? line : `${line}\n${" ".repeat(25)}what to do: ${visible(advice)}`;
}
