import type { WorkerProgram } from "../../src/engine/worker-process.js";

/**
 * A worker without a client, as a program text. It answers as the protocol demands, and takes a turn at its first key by itself
 * every 5 ms. `extra` runs after the setup.
 */
export const fakeWorker = (extra = ""): WorkerProgram => ({
  command: process.execPath,
  args: [
    "-e",
    `
const { writeSync } = require("node:fs");
const say = (word) => writeSync(1, JSON.stringify(word) + "\\n");
let p, base, key, op = 0, timer;
const now = () => Number(process.hrtime.bigint() - base);
const turn = () => {
  const id = ++op, hold = p + ":" + id;
  say({ t: now(), type: "invoke", p, f: "acquire", key, op: id });
  say({ t: now(), type: "ok", p, f: "acquire", key, op: id, ret: { hold } });
  const back = ++op;
  say({ t: now(), type: "invoke", p, f: "release", key, op: back, hold });
  say({ t: now(), type: "ok", p, f: "release", key, op: back });
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const word = JSON.parse(line);
  if (word.do === "setup") {
    ({ p } = word.setup);
    base = BigInt(word.setup.clockBase);
    key = word.setup.keys[0].id;
    ${extra}
    say({ say: "ready" });
  } else if (word.do === "start") timer = setInterval(turn, 5);
  else if (word.do === "stop") { clearInterval(timer); say({ say: "done" }); process.exit(0); }
});
`,
  ],
});
