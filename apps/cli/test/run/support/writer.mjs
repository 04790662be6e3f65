// The command of the tests. It writes into a file, the resource: first that it has begun, then a line every 20 ms. Times are
// those of the monotonic clock, which all processes of this machine share. When it begins it checks which earlier writers live.
import { spawn } from "node:child_process";
import { appendFileSync, constants, readFileSync } from "node:fs";

const [file, ...flags] = process.argv.slice(2);
const has = (flag) => flags.includes(flag);
const value = (flag) => (has(flag) ? flags[flags.indexOf(flag) + 1] : undefined);
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
// The file is never created here: a finished test removes the folder while its writers are being ended. A new file would then be
// in the way.
const flag = constants.O_WRONLY | constants.O_APPEND;
const write = (line) => appendFileSync(file, `${JSON.stringify(line)}\n`, { flag });

/** The start time of a process, or `null` if there is none. A dead one whose parent has not yet asked for its end is none. */
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
  // The child was ended by a SIGTERM before it could ignore it. That is not the command that the test needs.
  child.on("exit", () => process.exit(1));
}
if (has("--for")) setTimeout(() => process.exit(0), Number(value("--for")));
