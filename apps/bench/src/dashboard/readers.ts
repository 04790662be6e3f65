// Readers of the dashboard's stream, in a process of their own. Every tenth one reads nothing.
import { request } from "node:http";
import type { ReadersReport } from "./messages.js";

const [, , url = "", count = "0", stalling = "", ...tokens] = process.argv;
const stalledEvery = 10;
const readers: { chunks: number; readonly stalled: boolean }[] = [];
let received = 0;

for (let n = 0; n < Number(count); n++) {
  await new Promise<void>((resolve, reject) => {
    const token = tokens[n % tokens.length];
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const asked = request(url, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`the stream answered ${response.statusCode}`));
      const reader = { chunks: 0, stalled: stalling !== "" && n % stalledEvery === 0 };
      readers.push(reader);
      // The server cuts off a reader that reads nothing, as it should.
      response.on("error", () => {});
      if (reader.stalled) response.pause();
      else
        response.on("data", (chunk: Buffer) => {
          reader.chunks += 1;
          received += chunk.length;
        });
      resolve();
    });
    asked.on("error", reject);
    asked.end();
  });
}
process.send?.("connected");
process.on("message", () => {
  const lively = readers.filter(({ stalled }) => !stalled).map(({ chunks }) => chunks);
  const report: ReadersReport = { received, least: Math.min(...lively) };
  process.send?.(report);
});
process.on("disconnect", () => process.exit(0));
