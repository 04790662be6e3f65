import { fairKeys } from "../../src/layout/keys.js";
import { FairModel } from "../model/fair-model.js";
import { groups, type SimulatedRedis } from "./simulated-redis.js";

/** Runs the scripts of the fair lock as its model does. */
export function executeFair(
  redis: SimulatedRedis,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): unknown {
  const text = (place: number): string => String(args[place]);
  const number = (place: number): number => Number(args[place]);
  const notAfter = (place: number): number | null => (number(place) === 0 ? null : number(place) / 1000);
  const modelOf = (lock: string) => new FairModel(redis.space, fairKeys(lock), redis.runId);
  const model = modelOf(keys[0] as string);
  const ending = {
    owner: text(0),
    waitMs: number(1),
    publish: text(2) as "publish",
    channel: text(3),
  };
  switch (name) {
    case "fair-acquire":
      return model.acquire({
        owner: text(0),
        notAfterMs: notAfter(1),
        floor: BigInt(text(2)),
        leaseMs: number(3),
        mayWait: number(4) === 1,
        aliveMs: number(5),
        tokenTtlMs: number(6),
        waitMs: number(7),
      });
    case "fair-heartbeat": {
      const common = {
        aliveMs: number(0),
        claimMs: number(1),
        notAfterMs: notAfter(2),
        tokenTtlMs: number(3),
        waitMs: number(4),
      };
      return groups(args.slice(5), 3).flatMap(([owner, leaseMs, floor], place) =>
        modelOf(keys[5 * place] as string).heartbeat(common, [
          { owner: String(owner), leaseMs: Number(leaseMs), floor: BigInt(String(floor)) },
        ]),
      );
    }
    case "fair-release":
      return model.release(ending);
    case "fair-cancel":
      return groups(args.slice(2), 2).flatMap(([owner, channel], place) =>
        modelOf(keys[5 * place] as string).cancel({ waitMs: number(0), publish: text(1) as "publish" }, [
          { owner: String(owner), channel: String(channel) },
        ]),
      );
    default:
      throw new Error(`no model of the script ${name}`);
  }
}
