// Keeps each instance busy with one call after the other. An instance that is down or stopped is not an error.
import { setTimeout as pass } from "node:timers/promises";

export default async function load({ urls, signal }) {
  await Promise.all(
    urls.map(async (url) => {
      while (!signal.aborted) {
        try {
          const answer = await fetch(`${url}/sell`, { method: "POST", signal });
          await answer.arrayBuffer();
        } catch {
          await pass(50);
        }
      }
    }),
  );
}
