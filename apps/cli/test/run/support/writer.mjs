// The command of the tests: it writes into a file, the resource, that it has begun, and then a line each 20 ms. Times are those of the
// monotonic clock, which all processes of this machine share. When it begins, it looks which of the writers before it are alive.
import { spawn } from "node:child_process";
import { appendFileSync, constants, readFileSync } from "node:fs";

const [file, ...flags] = process.argv.slice(2);
const has = (flag) => flags.includes(flag);
const value = (flag) => (has(flag) ? flags[flags.indexOf(flag) + 1] : undefined);
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
// Never made anew: a test that is over removes the folder while its writers are being ended, and a new file would stand in the way.
const flag = constants.O_WRONLY | constants.O_APPEND;
const write = (line) => appendFileSync(file, `${JSON.stringify(line)}\n`, { flag });

/** State and start of a process, `null` when there is none. A dead one that its parent has not asked for yet does nothing any more. */
function processOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : { started: fields[19] };
  } catch {
    return null;
  }
}

if (has("--ignore-term")) process.on("SIGTERM", () => {});
const leader = Number(value("--leader") ?? process.pid);
const before = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line.includes('"begin"'))
  .map((line) => JSON.parse(line));
const alive = before
  .filter((other) => other.leader !== leader && processOf(other.pid)?.started === other.started)
  .map((other) => other.pid);
const { started } = processOf(process.pid);
const token = process.env.HOLDFAST_TOKEN;
write({ what: "begin", pid: process.pid, ppid: process.ppid, leader, started, token, alive, atMs: nowMs() });
setInterval(() => write({ what: "beat", pid: process.pid, leader, atMs: nowMs() }), 20);
if (has("--child")) {
  const rest = flags.filter((flag) => flag !== "--child");
  const detached = has("--child-leaves");
  const child = spawn(process.execPath, [process.argv[1], file, ...rest, "--leader", `${leader}`], {
    detached,
  });
  // Ended by a SIGTERM before it could ignore it: this is not the command that the test wants.
  child.on("exit", () => process.exit(1));
}
if (has("--for")) setTimeout(() => process.exit(0), Number(value("--for")));
