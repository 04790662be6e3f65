import { connect as connectTcp, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { Millis } from "@holdfast/core";
import { type ServerAddress, tlsSocket } from "@holdfast/zk-recipes/internal";

const maxAnswerBytes = 64 * 1024 * 1024;

/** `refused`: the server refuses this word. `down`: the server does not answer at all. */
export type WordAnswer =
  | { readonly text: string }
  | { readonly failure: "refused" | "down"; readonly why: string };

/** Sends one of ZooKeeper's four-letter words on a connection of its own. Never rejects. */
export function askWord(
  word: string,
  { host, port }: ServerAddress,
  tls: ConnectionOptions | undefined,
  withinMs: Millis,
): Promise<WordAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const socket: Socket =
      tls === undefined ? connectTcp({ host, port }) : tlsSocket(() => ({ ...tls, host, port }));
    const done = (answer: WordAnswer): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(
      () => done({ failure: "down", why: `no answer to ${word} within ${withinMs} ms` }),
      withinMs,
    );
    socket.on(tls === undefined ? "connect" : "secureConnect", () => socket.write(word));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) done({ failure: "refused", why: `the answer to ${word} is too long` });
    });
    socket.on("error", (error) => done({ failure: "down", why: error.message }));
    socket.on("close", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      if (text === "") done({ failure: "down", why: `closed without an answer to ${word}` });
      else if (/is not executed because it is not in the whitelist/.test(text)) {
        done({ failure: "refused", why: `${word} is not in the server's 4lw.commands.whitelist` });
      } else if (/^\s*This ZooKeeper instance is not currently serving requests/.test(text)) {
        // This is then the answer to every word. Read as a list of sessions, it would be an empty list.
        done({ failure: "refused", why: "the server serves no client now: it is not part of a quorum" });
      } else done({ text });
    });
  });
}

/** `name: value` and `name<tab>value` lines. */
export function fieldsOf(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^([^:\t]+)(?:\t|: )(.*)$/.exec(line);
    if (match !== null) fields.set((match[1] as string).trim(), (match[2] as string).trim());
  }
  return fields;
}
