import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { findProgram } from "@holdfast/test-servers";
import { Missing } from "../missing.js";
import type { OtherServer } from "./other-set.js";

const answerWithinMs = 10_000;

/** etcd: the program that the variable `ETCD` names, else the one on `PATH`. @throws Missing */
export function etcd(): OtherServer {
  const { ETCD: named } = process.env;
  const program = named !== undefined && named !== "" && existsSync(named) ? named : findProgram("etcd");
  if (program === undefined) {
    throw new Missing(
      "no etcd: apt-get download etcd-server, dpkg-deb -x it, and set ETCD to its usr/bin/etcd",
    );
  }
  const version = /etcd Version: (\S+)/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[1];
  return {
    name: "etcd",
    version: version ?? "unknown",
    prepare: async (folder, port) => {
      const client = `http://127.0.0.1:${port}`;
      // The kernel chooses the port, and no other member joins.
      const peer = "http://127.0.0.1:0";
      const args = ["--data-dir", `${folder}/data`, "--listen-client-urls", client];
      const advertised = ["--advertise-client-urls", client, "--listen-peer-urls", peer];
      return { command: program, args: [...args, ...advertised], cwd: folder };
    },
    serves: async (port) => (await fetch(`http://127.0.0.1:${port}/health`)).ok,
    async endSession(port, { key }) {
      const ask = async (path: string, body: object) => {
        const response = await fetch(`http://127.0.0.1:${port}/v3/${path}`, {
          method: "POST",
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(answerWithinMs),
        });
        return (await response.json()) as { kvs?: { lease: string }[] };
      };
      const name = (text: string) => Buffer.from(text).toString("base64");
      // The oldest key below the lock's name belongs to the holder.
      const { kvs } = await ask("kv/range", {
        key: name(`${key}/`),
        range_end: name(`${key}0`),
        sort_target: "CREATE",
        limit: 1,
      });
      const ID = kvs?.[0]?.lease;
      if (ID === undefined) throw new Error(`nobody holds ${key}`);
      await ask("lease/revoke", { ID });
      return { lease: ID };
    },
  };
}
