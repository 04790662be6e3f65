import { readWriteKeys } from "../../src/layout/keys.js";
import { ReadWriteModel } from "../model/read-write-model.js";
import { groups, keeperArgs, type SimulatedRedis } from "./simulated-redis.js";

/** Runs the scripts of the read-write lock as their models do, in the form that the recipes get. */
export function executeReadWrite(
  redis: SimulatedRedis,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): unknown {
  const text = (place: number): string => String(args[place]);
  const number = (place: number): number => Number(args[place]);
  const notAfter = (place: number): number | null => (number(place) === 0 ? null : number(place) / 1000);
  const modelOf = (lock: string) => new ReadWriteModel(redis.space, readWriteKeys(lock), redis.runId);
  const model = modelOf(keys[0] as string);
  const ending = {
    owner: text(0),
    claimMs: number(1),
    aliveMs: number(2),
    maxDirectRun: number(3),
    tokenTtlMs: number(4),
    publish: text(5) as "publish",
    channel: text(6),
    changes: text(7),
    readersTurnMs: number(9),
  };
  switch (name) {
    case "write-acquire":
      return model.acquire({
        owner: text(0),
        notAfterMs: notAfter(1),
        floor: BigInt(text(2)),
        leaseMs: number(3),
        mayWait: number(4) === 1,
        aliveMs: number(5),
        tokenTtlMs: number(6),
        changes: text(7),
        ...keeperArgs(args),
      });
    case "write-heartbeat": {
      const common = {
        aliveMs: number(0),
        claimMs: number(1),
        notAfterMs: notAfter(2),
        tokenTtlMs: number(3),
        changes: text(4),
      };
      return groups(args.slice(5), 3).flatMap(([owner, leaseMs, floor], place) =>
        modelOf(keys[5 * place] as string).heartbeat(common, [
          { owner: String(owner), leaseMs: Number(leaseMs), floor: BigInt(String(floor)) },
        ]),
      );
    }
    case "write-release":
      return model.writeRelease(ending);
    case "write-cancel":
      return model.writeCancel({ ...ending, leaseMs: number(10) });
    case "read-acquire": {
      const answer = model.readAcquire({
        owner: text(0),
        leaseMs: number(1),
        notAfterMs: notAfter(2),
        tokenTtlMs: number(3),
        floor: BigInt(text(4)),
        aliveMs: number(5),
        readNumber: number(6),
      });
      if (answer.status !== "busy") return answer;
      // The recipe turns the answer into this before its callers get it.
      const { serverMs, holderPttlMs, behindWriter } = answer;
      return { status: "busy", serverMs, againMs: behindWriter || holderPttlMs < 0 ? null : holderPttlMs };
    }
    case "read-release": {
      const { status, serverMs } = model.readRelease({
        ...ending,
        holdPrefix: text(10),
        readNumber: number(11),
      });
      return { serverMs, ended: status !== "gone" };
    }
    case "read-renew":
      return groups(args, 2).flatMap(([owner, leaseMs], place) =>
        modelOf(keys[3 * place] as string).readRenew([{ field: String(owner), leaseMs: Number(leaseMs) }]),
      );
    case "read-write-force": {
      const mode = text(0) as "read" | "write";
      const answer = model.force({
        mode,
        expected: text(1),
        publish: text(2) as "publish",
        channel: text(3),
      });
      if (answer.status === "forced") redis.onForced(answer.holders);
      return answer;
    }
    case "read-write-ask":
      return model.ask(text(0) as "read" | "write");
    default:
      throw new Error(`no model of the script ${name}`);
  }
}
