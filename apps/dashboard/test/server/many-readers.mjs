// A separate process, so that reading does not stall the measured event loop. Every tenth reader reads nothing.
import { request } from "node:http";

const [, , url, count, authorization] = process.argv;
const readers = [];
let received = 0;
for (let n = 0; n < Number(count); n++) {
  await new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, headers: { authorization } }, (response) => {
      const reader = { chunks: 0, stalled: n % 10 === 0 };
      readers.push(reader);
      response.on("error", () => {});
      if (reader.stalled) response.pause();
      else
        response.on("data", (chunk) => {
          reader.chunks += 1;
          received += chunk.length;
        });
      resolve();
    });
    asked.on("error", reject);
    asked.end();
  });
}
process.send("connected");
process.on("message", () => {
  process.send({
    received,
    least: Math.min(...readers.filter(({ stalled }) => !stalled).map(({ chunks }) => chunks)),
  });
});
process.on("disconnect", () => process.exit(0));
