// Writes holds of one lock into a history, as fast as a busy cluster does, until it is killed. Prints a line for each.
import { LastingHistory } from "../../../apps/dashboard/dist/history/lasting-history.js";

const [, , file, run] = process.argv;
const history = await LastingHistory.open({ file, maxMegabytes: 64 });
const question = { ask: "story", cluster: "zoo", key: "/none", fromMs: 0, toMs: 1, limit: 1, after: null };
let answered = true;
let n = 0;
setInterval(() => {
  // In each turn the history's thread answers a question. So the turns are also a measure of the time that it had for writing.
  if (!answered) return;
  answered = false;
  history
    .ask(question)
    .catch(() => {})
    .finally(() => {
      answered = true;
    });
  for (let each = 0; each < 10; each++) {
    const atMs = Date.now();
    const hold = { cluster: "zoo", backend: "zookeeper", key: `/run/${run}`, entry: `e${run}-${n++}` };
    history.add({
      type: "begun",
      ...hold,
      found: false,
      sinceMs: atMs,
      exact: true,
      waitedMs: 0,
      owner: null,
    });
    history.add({ type: "ended", ...hold, atMs, seen: true, heldMs: 0, reason: "released", owner: null });
    process.stdout.write(`${hold.entry}\n`);
  }
}, 10);
