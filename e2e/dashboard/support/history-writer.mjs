// Writes holds of one lock into a history, as fast as a busy cluster does, until it is killed. Prints a line for each.
import { LastingHistory } from "../../../apps/dashboard/dist/history/lasting-history.js";

const [, , file, run] = process.argv;
const history = await LastingHistory.open({ file, maxMegabytes: 64 });
let n = 0;
setInterval(() => {
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
    process.stdout.write(`${hold.entry} ${atMs}\n`);
  }
}, 10);
