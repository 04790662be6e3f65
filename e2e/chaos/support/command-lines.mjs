// Runs the command lines of holdfast-chaos that it is sent, and answers each with its exit code and its output.
import { main } from "../../../apps/chaos/dist/cli/main.js";

process.on("message", async ({ id, args }) => {
  const lines = [];
  const code = await main(args, (line) => lines.push(line));
  process.send({ id, code, output: lines.join("\n") });
});
process.on("disconnect", () => process.exit());
