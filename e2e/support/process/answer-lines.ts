import { createInterface } from "node:readline";

function print(...words: readonly (string | number)[]): void {
  process.stdout.write(`${words.map(encodeURIComponent).join(" ")}\n`);
}

/** Prints an event, which is a line that answers no command. */
export function say(...words: readonly string[]): void {
  print("!", ...words);
}

/**
 * The worker's side of `LineProcess`. A line on stdin is an id, a command and its words. The answer on stdout is that id with
 * `ok` and the words of the result, or with `error` and the name and message of the error. The process ends with its stdin.
 */
export function answerLines(
  run: (command: string, ...args: string[]) => Promise<readonly (string | number)[]>,
): void {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const [id = "", command = "", ...args] = line.split(" ").map(decodeURIComponent);
    run(command, ...args).then(
      (values) => print(id, "ok", ...values),
      (error: Error) => print(id, "error", error.name, error.message),
    );
  });
  lines.on("close", () => process.exit(0));
  say("started");
}
