import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Enforcer, type Limits } from "./limits.js";
import { type Order, type Report, superviseName } from "./messages.js";
import { ProcessGroup } from "./process-group.js";

/** How long a supervisor may take to start a command. Until then nothing runs, but the lock is held. */
const startWithinMs = 30_000;
/** How long a supervisor may take to report an end that the lock client has seen itself. */
const reportWithinMs = 500;

/** How the command ended. No member of its group is left. */
export type End =
  | {
      readonly kind: "ended";
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
      readonly limited: boolean;
    }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** The supervisor ended or stood still, so the lock client has killed the group itself. `limited`: because of the limits. */
  | { readonly kind: "unsupervised"; readonly limited: boolean };

/** The lock client enforces the SIGKILL only. The supervisor sends the SIGTERM, so that the command gets it once. */
const killOnly = ({ killAtMs }: Limits): Limits => ({ termAtMs: Infinity, killAtMs });

/** The command to run. */
export type Work = Omit<Order & { do: "start" }, "do" | "limits">;

/** The lock client's side of the supervisor. */
export class Supervisor {
  readonly #process: ChildProcess;
  #group: ProcessGroup | undefined;
  #enforcer: Enforcer | undefined;
  #limits: Limits | undefined;
  #startLimit: NodeJS.Timeout | undefined;
  readonly #end: Promise<End>;

  /**
   * Starts the supervisor's process, which has nothing to do yet. It has a session of its own, so keys of the terminal
   * and signals to the lock client's group do not reach it.
   */
  constructor() {
    const program = fileURLToPath(new URL("../cli.js", import.meta.url));
    const stdio = ["inherit", "inherit", "inherit", "ipc"] as const;
    this.#process = spawn(process.execPath, [program, superviseName], { stdio: [...stdio], detached: true });
    this.#end = this.#follow();
  }

  /** Whether the process has ended, so that it can no longer run a command. */
  get isGone(): boolean {
    return !this.#process.connected;
  }

  /** Runs the command within `limits`; resolves when all of its group is gone. Never rejects. */
  run(work: Work, limits: Limits): Promise<End> {
    this.#limits = limits;
    this.#order({ do: "start", ...work, limits });
    this.#startLimit = setTimeout(() => this.#process.kill("SIGKILL"), startWithinMs);
    return this.#end;
  }

  move(limits: Limits): void {
    this.#limits = limits;
    this.#enforcer?.move(killOnly(limits));
    this.#order({ do: "move", limits });
  }

  signal(name: NodeJS.Signals): void {
    this.#order({ do: "signal", name });
  }

  /** Disconnects from the process, which then ends by itself. */
  close(): void {
    clearTimeout(this.#startLimit);
    this.#enforcer?.stop();
    if (this.#process.connected) this.#process.disconnect();
    this.#process.unref();
  }

  #order(order: Order): void {
    if (this.#process.connected) this.#process.send(order, () => {});
  }

  #follow(): Promise<End> {
    return new Promise((resolve) => {
      const ended = async (): Promise<void> => {
        const limited = this.#limited;
        this.#enforcer?.kill();
        // The last report may arrive after the `exit` event, so wait for the end of the channel.
        if (this.#process.connected) await once(this.#process, "disconnect");
        this.#enforcer?.kill();
        await this.#group?.untilGone();
        this.#enforcer?.stop();
        resolve({ kind: "unsupervised", limited });
      };
      this.#process.on("error", ended);
      this.#process.on("exit", ended);
      this.#process.on("message", (report: Report) => {
        if (report.said === "started") this.#guard(new ProcessGroup(report.pid));
        else if (report.said === "refused") resolve({ kind: "refused", ...report });
        else {
          resolve({ kind: "ended", ...report, limited: report.sent !== null || this.#limited });
          this.#enforcer?.stop();
        }
      });
    });
  }

  get #limited(): boolean {
    return this.#enforcer !== undefined && this.#enforcer.sent !== null;
  }

  #guard(group: ProcessGroup): void {
    this.#group = group;
    clearTimeout(this.#startLimit);
    this.#enforcer = new Enforcer(group, killOnly(this.#limits as Limits), async () => {
      await group.untilGone();
      this.#enforcer?.stop();
      await sleep(reportWithinMs);
      // The supervisor stands still, and it is not needed any more.
      this.#process.kill("SIGKILL");
    });
  }
}
