import type { ReadWriteKeys } from "../../src/layout/keys.js";
import type { AskAnswer } from "../../src/scripts/mutex/ask.js";
import type { PassArgs } from "../../src/scripts/mutex/release.js";
import type { RenewAnswer, RenewEntry } from "../../src/scripts/mutex/renew.js";
import type { ReadWriteForceAnswer, ReadWriteForceArgs } from "../../src/scripts/read-write/force.js";
import type { ReadAnswer, ReadArgs } from "../../src/scripts/read-write/read-acquire.js";
import type { ReadReleaseAnswer, ReadReleaseArgs } from "../../src/scripts/read-write/read-release.js";
import type { WriteCancelAnswer, WriteCancelArgs } from "../../src/scripts/read-write/write-cancel.js";
import type {
  TurnArgs,
  WriteReleaseAnswer,
  WriteReleaseArgs,
} from "../../src/scripts/read-write/write-release.js";
import { type Look, QueueModel } from "./queue-model.js";
import { knownToken } from "./wire.js";

/** The read-write lock, with Redisson's hash and hold keys, and our queue of writers. */
export class ReadWriteModel extends QueueModel<ReadWriteKeys> {
  #message = "0";

  look(_owner?: string): Look {
    const { space } = this;
    const type = space.type(this.keys.lock);
    if (type === "none") return { state: "free" };
    if (type !== "hash") return { state: "conflict", found: type };
    const fields = space.hash(this.keys.lock);
    const mode = fields.get("mode");
    if (mode === undefined) return { state: "conflict", found: "mutex" };
    if (mode === "read") return { state: "held", holder: "", mode };
    if (mode !== "write") return { state: "conflict", found: "hash" };
    const writer = [...fields.keys()].find((field) => field.endsWith(":write"));
    return { state: "held", holder: writer?.replace(/:write$/, "") ?? "", mode };
  }

  put(owner: string, leaseMs: number): void {
    this.space.hset(this.keys.lock, "mode", "write");
    this.space.hset(this.keys.lock, `${owner}:write`, "1");
    this.space.expire(this.keys.lock, leaseMs);
  }

  freed(): string {
    return this.#message;
  }

  protected override ownTurn(args: PassArgs & Partial<TurnArgs>): string {
    return `r${this.space.nowMs + (args.readersTurnMs ?? 0)}`;
  }

  writeRelease(args: WriteReleaseArgs): WriteReleaseAnswer {
    const { space, keys } = this;
    const field = `${args.owner}:write`;
    if (space.type(keys.lock) !== "hash" || !space.hash(keys.lock).has(field)) return this.gone();
    space.hdel(keys.lock, field);
    if (space.hash(keys.lock).get("mode") !== "write") return this.gone();
    return this.#endWrite(args);
  }

  writeCancel(args: WriteCancelArgs): WriteCancelAnswer {
    const { space, keys } = this;
    const entry = `${args.owner} ${args.leaseMs}`;
    const first = space.list(keys.waiters)[0] === entry;
    const out = [space.pull(keys.waiters, entry), space.unscore(keys.alive, args.owner)];
    if (this.#writes(args.owner)) {
      space.hdel(keys.lock, `${args.owner}:write`);
      return this.#endWrite(args, "always");
    }
    const found = this.look();
    const unwritten = found.state === "free" || (found.state === "held" && found.mode === "read");
    const javas = found.state === "held" && found.mode === "write" && !this.isOurs(found.holder);
    if (first && (unwritten || javas)) {
      const head = this.liveHead();
      this.nudge(head);
      if (head === null && unwritten) this.tellRedisson(args, "1");
    }
    return { status: out.includes(true) ? "removed" : "none", serverMs: this.serverMs, publishError: "" };
  }

  readAcquire(args: ReadArgs): ReadAnswer {
    const { space, keys, serverMs } = this;
    const late = this.late(args.notAfterMs);
    if (late) return late;
    const found = this.look();
    if (found.state === "conflict") return this.conflict(found.found);
    const last = this.lastToken();
    if (last === null) return this.conflict("token");
    const token = this.raised(last, args.floor, found.state === "held", args.tokenTtlMs);
    const hold = this.#hold(args.owner);
    const written = found.state === "held" && found.mode === "write";
    const beside = written && this.#writes(args.owner);
    const there = found.state === "held" && space.hash(keys.lock).has(args.owner);
    if (there && (args.readNumber === 1 || Number(space.string(hold) ?? 0) >= args.readNumber)) {
      return { status: "granted", serverMs, token, pttlMs: Math.max(0, space.pttl(hold)), beside };
    }
    if (!beside) {
      let behindWriter = false;
      if (!written && this.liveHead(args.aliveMs) !== null) {
        const turn = /^r(\d+)/.exec(space.string(keys.run) ?? "")?.[1];
        behindWriter = turn === undefined || Number(turn) <= space.nowMs;
      }
      if (written || behindWriter) {
        const holder = found.state === "held" ? found.holder : "";
        this.tellKeeper(holder);
        return {
          status: "busy",
          serverMs,
          holderPttlMs: space.pttl(keys.lock),
          holder,
          lastToken: token,
          behindWriter,
        };
      }
    }
    if (found.state === "free") space.hset(keys.lock, "mode", "read");
    space.hset(keys.lock, args.owner, "1");
    space.set(hold, String(args.readNumber), args.leaseMs);
    if (space.pttl(keys.lock) < args.leaseMs) space.expire(keys.lock, args.leaseMs);
    const granted = beside ? token : this.grantToken(token, args.tokenTtlMs);
    return { status: "granted", serverMs, token: granted, pttlMs: space.pttl(hold), beside };
  }

  readRelease(args: ReadReleaseArgs): ReadReleaseAnswer {
    const { space, keys, serverMs } = this;
    const found = this.look();
    if (found.state !== "held" || !space.hash(keys.lock).has(args.owner)) return this.gone();
    const hold = this.#hold(args.owner);
    if (args.readNumber > 1 && Number(space.string(hold) ?? 0) > args.readNumber)
      return { status: "shared", serverMs };
    space.hdel(keys.lock, args.owner);
    space.del(hold);
    const others = [...space.hash(keys.lock)].filter(([field]) => field !== "mode");
    const left = others.flatMap(([field, count]) =>
      Array.from({ length: Number(count) }, (_, level) => space.pttl(this.#hold(field, level + 1))),
    );
    const longest = Math.max(0, ...left);
    if (longest > 0) {
      space.expire(keys.lock, longest);
      return { status: "shared", serverMs };
    }
    if (found.mode === "write") return { status: "shared", serverMs };
    this.#message = "0";
    space.del(keys.lock);
    return this.pass(args);
  }

  readRenew(entries: readonly RenewEntry[]): readonly RenewAnswer[] {
    const { space, keys, serverMs } = this;
    return entries.map(({ field: owner, leaseMs }) => {
      const fields = space.type(keys.lock) === "hash" ? space.hash(keys.lock) : new Map<string, string>();
      if (!fields.has("mode") || !fields.has(owner)) return { status: "gone", serverMs };
      const hold = this.#hold(owner);
      if (space.type(hold) === "none") space.set(hold, "1", leaseMs);
      if (space.pttl(hold) < leaseMs) space.expire(hold, leaseMs);
      if (space.pttl(keys.lock) < leaseMs) space.expire(keys.lock, leaseMs);
      const value = space.string(keys.token) ?? "";
      const token = knownToken(value) ?? 0n;
      return { status: "renewed", serverMs, token, pttlMs: space.pttl(hold) };
    });
  }

  force(args: ReadWriteForceArgs): ReadWriteForceAnswer {
    const { space, keys, serverMs } = this;
    const found = this.look();
    if (found.state === "conflict") return this.conflict(found.found);
    if (found.state === "free") return { status: "free", serverMs };
    const holders = this.#holders(found.mode);
    if (found.mode !== args.mode || (args.expected !== "" && !holders.includes(args.expected))) {
      return { status: "other", serverMs };
    }
    const head = this.liveHead();
    space.del(keys.lock);
    space.del(keys.run);
    const told = holders.filter((owner) => this.tell(owner, { type: "stolen" })).length;
    this.tellRedisson(args, args.mode === "write" ? "1" : "0");
    this.nudge(head);
    return { status: "forced", serverMs, holders, told, publishError: "" };
  }

  ask(mode: "read" | "write"): AskAnswer {
    const { serverMs } = this;
    const found = this.look();
    if (found.state === "conflict") return this.conflict(found.found);
    if (found.state === "free" || found.mode !== mode) return { status: "free", serverMs };
    const holders = this.#holders(mode);
    const ours = holders.filter((owner) => this.isOurs(owner));
    if (ours.length === 0) return { status: "foreign", serverMs, holders };
    for (const owner of ours) this.tell(owner, { type: "revoke" });
    return { status: "asked", serverMs, holders: ours, publishError: "" };
  }

  /** Ends a write whose field was deleted. `"always"`: looks at the clock even without waiters. */
  #endWrite(args: WriteReleaseArgs, clock?: "always"): Exclude<WriteReleaseAnswer, { status: "gone" }> {
    const { space, keys, serverMs } = this;
    if (space.hash(keys.lock).size > 1) {
      space.hset(keys.lock, "mode", "read");
      this.tellRedisson(args, "1");
      return { status: "downgraded", serverMs, publishError: "" };
    }
    this.#message = "1";
    space.del(keys.lock);
    return (clock === "always" ? null : this.freedAlone(args)) ?? this.pass(args);
  }

  #writes(owner: string): boolean {
    const found = this.look();
    return found.state === "held" && found.mode === "write" && found.holder === owner;
  }

  #holders(mode: "read" | "write" | undefined): string[] {
    const fields = [...this.space.hash(this.keys.lock).keys()].filter((field) => field !== "mode");
    const writers = fields.flatMap((field) => (field.endsWith(":write") ? [field.slice(0, -6)] : []));
    return (mode === "write" ? writers : fields).sort();
  }

  #hold(owner: string, level = 1): string {
    return `${this.keys.holdPrefix}${owner}:rwlock_timeout:${level}`;
  }
}
