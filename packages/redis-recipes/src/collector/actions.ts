import type { ActionRequest, ActionResult } from "@holdfast/core/observe";
import type { ReplyError } from "../client/errors.js";
import { ourChannels, type RedissonPublish, redissonChannels } from "../layout/channels.js";
import {
  electionKeys,
  fairKeyList,
  fairKeys,
  mutexKeyList,
  mutexKeys,
  permitKeyList,
  permitKeys,
} from "../layout/keys.js";
import { fairForce } from "../scripts/fair/force.js";
import { mutexAsk } from "../scripts/mutex/ask.js";
import { mutexForce } from "../scripts/mutex/force.js";
import { permitRelease } from "../scripts/permit/release.js";
import { readWriteAsk } from "../scripts/read-write/ask.js";
import { readWriteForce } from "../scripts/read-write/force.js";
import { semaphoreAsk } from "../scripts/semaphore/ask.js";
import { guarded, takeOut } from "./action-scripts.js";
import type { LockRecord } from "./book.js";
import {
  effectsOfCleaning,
  effectsOfEviction,
  effectsOfForce,
  effectsOfPermit,
  effectsOfRevoke,
} from "./effects.js";
import { plainName } from "./key-names.js";
import type { Link } from "./link.js";
import type { Places } from "./places.js";
import { isMoved } from "./reader.js";

export interface ActionParts {
  readonly places: Places;
  readonly fairLockWaitTimeoutMs: number;
  /** Reads the lock with all that is beside it, at its master. */
  readonly reread: (key: string) => Promise<LockRecord | null>;
}

type Outcome = Pick<ActionResult, "outcome" | "effects">;

const maxRedirections = 3;

/**
 * What an operator may do. Each is one script at the master, which compares what the operator saw with what is there and acts in the same
 * moment. Rejects where the backend cannot be asked, or refuses.
 */
export class Actions {
  readonly #parts: ActionParts;

  constructor(parts: ActionParts) {
    this.#parts = parts;
  }

  async act(request: ActionRequest): Promise<ActionResult> {
    const { key, dryRun } = request;
    const before = await this.#parts.reread(key);
    // The row may be of a moment before: what was read now is not what the scripts compare, that is `expectedVersion`.
    if (before === null || (before.reading.shape.is === "nothing" && before.lock.state === "idle"))
      return { outcome: "nothing-there", effects: [], before: before?.lock ?? null, after: null };
    const { lock } = before;
    const done = await this.#run(request, before);
    const acted = !dryRun && done.outcome === "done";
    const after = acted ? ((await this.#parts.reread(key))?.lock ?? null) : null;
    return { ...done, before: lock, after };
  }

  #run(request: ActionRequest, record: LockRecord): Promise<Outcome> {
    switch (request.action) {
      case "force-release":
        return this.#force(request, record);
      case "request-revoke":
        return this.#revoke(request, record);
      case "evict-waiter":
        return this.#evict(request);
      case "clean-orphan":
        return this.#clean(request);
    }
  }

  async #force(request: ActionRequest, { lock, reading }: LockRecord): Promise<Outcome> {
    const { key, entry, expectedVersion, dryRun } = request;
    if (lock.kind === "permit-semaphore") return this.#givePermit(request);
    if (reading.shape.is !== "lock")
      return unsupported(
        lock.kind === "semaphore"
          ? "Permits of a semaphore without leases belong to nobody: RSemaphore.addPermits() puts lost ones back."
          : "Nobody holds it.",
      );
    const fields = reading.shape.fields.map(({ field }) => field);
    if (entry !== null && !fields.includes(entry)) return { outcome: "conflict", effects: [] };
    const effects = effectsOfForce(lock, fields);
    const publish = this.#publish;
    const mark = [dryRun ? "dry" : "act", expectedVersion];
    let reply: readonly unknown[];
    switch (lock.kind) {
      case "read-write-lock": {
        const { mode } = reading.shape;
        const args = readWriteForce.args({
          mode: mode ?? "write",
          expected: "",
          publish,
          channel: redissonChannels.readWrite(key),
        });
        reply = await this.#eval(key, guarded(readWriteForce), mutexKeyList(mutexKeys(key)), [
          ...args,
          ...mark,
        ]);
        break;
      }
      case "fair-mutex": {
        const args = fairForce.args({
          expected: "",
          waitMs: this.#parts.fairLockWaitTimeoutMs,
          publish,
          channel: redissonChannels.mutex(key),
        });
        reply = await this.#eval(key, guarded(fairForce), fairKeyList(fairKeys(key)), [...args, ...mark]);
        break;
      }
      case "leader-election": {
        const name = plainName(key);
        const args = mutexForce.args({
          expected: "",
          publish: "none",
          channel: "",
          changes: ourChannels.election(name),
        });
        const keys = mutexKeyList(electionKeys(name));
        reply = await this.#eval(key, guarded(mutexForce), keys, [...args, ...mark]);
        break;
      }
      default: {
        const args = mutexForce.args({
          expected: "",
          publish,
          channel: redissonChannels.mutex(key),
          changes: "",
        });
        reply = await this.#eval(key, guarded(mutexForce), mutexKeyList(mutexKeys(key)), [...args, ...mark]);
      }
    }
    return outcomeOf(reply, "forced", effects);
  }

  /** The id is drawn for one grant and never used again: that it is there is all there is to compare. */
  async #givePermit({ key, entry, dryRun }: ActionRequest): Promise<Outcome> {
    if (entry === null) return unsupported("Say which permit: each is a hold of its own.");
    if (!/^[0-9a-f]{32}$/.test(entry))
      return unsupported("That is no id of a permit that can be given back here.");
    const keys = permitKeyList(permitKeys(key));
    if (dryRun) {
      const member = Buffer.from(entry, "hex");
      const link = this.#master(key);
      const score = await link.redis.zscore(keys[1] as string, member);
      return score === null
        ? { outcome: "conflict", effects: [] }
        : { outcome: "would-do", effects: effectsOfPermit(entry) };
    }
    const args = permitRelease.args({
      publish: this.#publish,
      channel: redissonChannels.semaphore(key),
      ids: [entry],
    });
    const reply = await this.#eval(key, permitRelease.lua, keys, args);
    return reply[0] === "gone"
      ? { outcome: "conflict", effects: [] }
      : outcomeOf(reply, "released", effectsOfPermit(entry));
  }

  async #revoke(request: ActionRequest, { lock, reading }: LockRecord): Promise<Outcome> {
    const { key, entry, expectedVersion, dryRun } = request;
    if (lock.kind === "semaphore" || lock.kind === "permit-semaphore")
      return this.#revokePermits(key, dryRun);
    if (reading.shape.is !== "lock") return unsupported("Nobody holds it.");
    const fields = reading.shape.fields.map(({ field }) => field);
    if (entry !== null && !fields.includes(entry)) return { outcome: "conflict", effects: [] };
    const effects = effectsOfRevoke(fields);
    const [, token = ""] = mutexKeyList(mutexKeys(key));
    const mark = [dryRun ? "dry" : "act", expectedVersion];
    const { mode } = reading.shape;
    const reply =
      mode === null
        ? await this.#eval(key, guarded(mutexAsk), [key, token], mark)
        : await this.#eval(
            key,
            guarded(readWriteAsk),
            [key, token],
            [...readWriteAsk.args({ mode }), ...mark],
          );
    if (reply[0] === "foreign") return { outcome: "unsupported", effects };
    if (reply[0] === "same" && !effects.some((each) => each.includes("revokeRequested")))
      return { outcome: "unsupported", effects };
    return outcomeOf(reply, "asked", effects);
  }

  async #revokePermits(key: string, dryRun: boolean): Promise<Outcome> {
    const effects = [
      'Holders of holdfast that took permits with revocable: true hear "revokeRequested" and decide for themselves, all of them, as permits do not say whose they are. Redisson has no such request.',
    ];
    if (dryRun) return { outcome: "would-do", effects };
    const { clustered } = this.#parts.places;
    // Either way, since a fleet of holders may have the one or the other switched on.
    const commands = clustered ? (["spublish", "publish"] as const) : (["publish"] as const);
    let heard = 0;
    for (const command of commands) {
      const args = semaphoreAsk.args({ channel: ourChannels.permitsWanted(key), command });
      heard += Number((await this.#eval(key, semaphoreAsk.lua, [key], args))[1]);
    }
    // Of plain channels a server of a cluster counts its own listeners only.
    const unheard = heard === 0 && !clustered;
    return unheard
      ? { outcome: "unsupported", effects: ["No holder listens for such a request."] }
      : { outcome: "done", effects };
  }

  async #evict({ key, entry, dryRun }: ActionRequest): Promise<Outcome> {
    if (entry === null) return unsupported("Say which waiter.");
    const { owners } = await this.#takeOut(key, "one", entry, dryRun);
    // It has got the lock meanwhile, or gone.
    if (owners.length === 0) return { outcome: "conflict", effects: [] };
    return { outcome: dryRun ? "would-do" : "done", effects: effectsOfEviction(entry) };
  }

  async #clean({ key, entry, dryRun }: ActionRequest): Promise<Outcome> {
    const { owners } = await this.#takeOut(key, "dead", entry ?? "", dryRun);
    const effects = effectsOfCleaning(owners);
    if (owners.length === 0) return { outcome: "nothing-there", effects };
    return { outcome: dryRun ? "would-do" : "done", effects };
  }

  async #takeOut(
    key: string,
    what: "one" | "dead",
    owner: string,
    dryRun: boolean,
  ): Promise<{ readonly owners: readonly string[] }> {
    const { lock, queue, deadlines, alive } = fairKeys(key);
    const { waiters } = mutexKeys(key);
    const args = [
      what,
      owner,
      this.#parts.fairLockWaitTimeoutMs,
      this.#publish,
      redissonChannels.mutex(key),
      dryRun ? "dry" : "act",
    ];
    const [, owners] = await this.#eval(key, takeOut, [lock, waiters, alive, queue, deadlines], args);
    return { owners: Array.isArray(owners) ? owners.map(String) : [] };
  }

  /** In a cluster a fleet may listen either way; to nobody listening it costs a command. */
  get #publish(): RedissonPublish {
    return this.#parts.places.clustered ? "both" : "publish";
  }

  #master(key: string): Link {
    const link = this.#parts.places.masterOf(key);
    if (link === null) throw new Error(`no server is known that serves ${JSON.stringify(key)}; try again`);
    return link;
  }

  async #eval(
    key: string,
    lua: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly unknown[]> {
    for (let tries = 0; ; tries++) {
      try {
        const reply = await this.#master(key).ask("eval", lua, keys.length, ...keys, ...args);
        if (Array.isArray(reply)) return reply;
        throw new Error(`a script answered ${JSON.stringify(reply)}`);
      } catch (error) {
        // Refused as a whole: nothing was done.
        if (!isMoved(error) || (error as ReplyError).kind === "ask" || tries >= maxRedirections) throw error;
        this.#parts.places.outdated();
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }
}

function outcomeOf(reply: readonly unknown[], done: string, effects: readonly string[]): Outcome {
  switch (reply[0]) {
    case done:
      return { outcome: "done", effects };
    case "same":
      return { outcome: "would-do", effects };
    case "free":
      return { outcome: "nothing-there", effects: [] };
    default:
      // changed, other, conflict: not what it was.
      return { outcome: "conflict", effects: [] };
  }
}

function unsupported(why: string): Outcome {
  return { outcome: "unsupported", effects: [why] };
}
