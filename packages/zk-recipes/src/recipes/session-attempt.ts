import type { HoldfastError, Runtime } from "@holdfast/core";
import { sequenceWarnFrom } from "../layout/queue-order.js";
import type { QueueRule } from "../layout/queue-rules.js";
import type { Attempt, AttemptListener } from "./attempt.js";
import type { CreateSettings } from "./create-settings.js";
import { eviction } from "./failures.js";
import type { OwnNode } from "./own-node-watch.js";
import { checkSequence } from "./queue-view.js";
import type { SessionDesk } from "./session-desk.js";

/** What all tries on one session do alike: they tell one end, once, and judge their nodes in the same way. */
export abstract class SessionAttempt<G> implements Attempt {
  abstract readonly roundTrips: number;
  abstract readonly queued: boolean;
  protected readonly desk: SessionDesk;
  protected readonly settings: CreateSettings;
  protected readonly listener: AttemptListener<G>;
  /** What the tries on earlier sessions took. */
  protected readonly roundTripsBefore: number;
  /** Told, dropped or withdrawn: answers that still come change nothing. */
  protected over = false;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    listener: AttemptListener<G>,
    roundTripsBefore: number,
  ) {
    this.desk = desk;
    this.settings = settings;
    this.listener = listener;
    this.roundTripsBefore = roundTripsBefore;
  }

  abstract start(): void;
  abstract withdraw(gone: (refused: HoldfastError | null) => void): void;

  drop(): void {
    this.over = true;
  }

  protected get runtime(): Runtime {
    return this.settings.runtime;
  }

  /** `false`: the counter of the parent is nearly spent, and the try has failed. */
  protected checkNumber(
    lockName: string,
    parent: string,
    node: OwnNode,
    rule: Pick<QueueRule, "bases">,
  ): boolean {
    try {
      const sequence = checkSequence(lockName, parent, node.name, rule);
      if (sequence >= sequenceWarnFrom) this.listener.sequenceHigh(sequence);
      return true;
    } catch (conflict) {
      this.fail(conflict as HoldfastError);
      return false;
    }
  }

  /** A node of ours is gone: deleted by somebody, or with the session, and only the leader can tell which. */
  protected evicted(lockName: string, path: string): void {
    this.desk.whenProven(
      () => this.fail(eviction(lockName, path)),
      () => !this.over,
    );
  }

  protected unavailable(): void {
    if (this.over) return;
    this.drop();
    this.listener.unavailable();
  }

  protected fail(error: HoldfastError): void {
    if (this.over) return;
    this.drop();
    this.listener.failed(error);
  }
}
