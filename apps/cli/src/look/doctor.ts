import { visible } from "@holdfast/collectors/internal";
import { type Command, exitOfSignal, exits, UsageError } from "../command.js";
import { type Check, checksOf, probeName } from "./checks.js";
import { printJson } from "./json.js";

export const doctor: Command = {
  name: "doctor",
  summary: "checks the configuration and the backend, step by step",
  usage: `Usage: holdfast doctor [NAME] [--json]

Looks whether locks work with this configuration and what endangers them: names, ports, versions, rights, times, clocks,
what the servers say of themselves, and a lock of its own that is taken and given back. Each step is a line with ok,
warning or failed, and what to do. The exit code is 0 only where nothing failed. NAME is the lock that is tried, where
the rights of this user are for certain names alone; default holdfast-doctor.

  --json   one document`,
  options: {},
  run: async (given, io) => {
    const {
      settings,
      positionals: [name = probeName, ...more],
    } = given;
    if (more.length > 0) throw new UsageError("doctor takes the NAME of one lock");
    const checks: Check[] = [];
    const json = given.values.json === true;
    for await (const check of checksOf(settings, name, io.signal)) {
      checks.push(check);
      if (!json) io.out(`${lineOf(check)}\n`);
    }
    if (io.signal.aborted) return exitOfSignal(io.signal);
    const failed = checks.filter(({ status }) => status === "failed").length;
    const warned = checks.filter(({ status }) => status === "warning").length;
    if (json) printJson(io, { ok: failed === 0, checks });
    else io.out(`\n${failed} failed, ${warned} with a warning, ${checks.length - failed - warned} ok\n`);
    return failed === 0 ? exits.done : exits.conflict;
  },
};

function lineOf({ status, name, found, advice }: Check): string {
  const line = `${status.padEnd(7)}  ${name.padEnd(14)}  ${visible(found)}`;
  return advice === null ? line : `${line}\n${" ".repeat(25)}what to do: ${visible(advice)}`;
}
