import type { Millis, Runtime, SessionState } from "@holdfast/core";
import type { RedisLine } from "../client/redis-line.js";
import { GrantChannel, type UnknownGrant } from "./grant-channel.js";
import { Holds } from "./holds.js";
import { LastRequests } from "./last-requests.js";
import { OwnOwners } from "./own-owners.js";
import { PermitWishes } from "./permit-wishes.js";
import { Requests } from "./requests.js";
import type { RecipeSettings } from "./settings.js";
import { Waits } from "./waits.js";
import { WakeRooms } from "./wake-rooms.js";

export interface ClientStateParts {
  readonly line: RedisLine;
  readonly runtime: Runtime;
  readonly settings: RecipeSettings;
  /** Hears of grants for owners that never were: see the event `unknown-grant`. */
  onUnknownGrant?(grant: UnknownGrant): void;
}

/** What all attempts and grants of one provider share: who waits, who holds, and how they ask. */
export class RedisClientState {
  readonly line: RedisLine;
  readonly requests: Requests;
  readonly owners: OwnOwners;
  readonly holds: Holds;
  readonly waits: Waits;
  readonly grantChannel: GrantChannel;
  readonly lastRequests: LastRequests;
  /** Requests that wait for messages on channels that are not ours alone. */
  readonly rooms: WakeRooms;
  readonly wishes: PermitWishes;
  readonly #stopListening: readonly (() => void)[];
  #identity: { close(): void } | undefined;

  constructor({ line, runtime, settings, onUnknownGrant = () => {} }: ClientStateParts) {
    const clockStepped = (runId: string): void => this.holds.clockStepped(runId);
    this.line = line;
    this.owners = new OwnOwners(runtime.randomId());
    this.requests = new Requests({ line, runtime, settings, clockStepped });
    this.holds = new Holds(this.requests, this.owners);
    this.lastRequests = new LastRequests(this.requests);
    this.waits = new Waits(this.requests, this.holds);
    this.grantChannel = new GrantChannel(this, onUnknownGrant);
    this.rooms = new WakeRooms(line);
    this.wishes = new PermitWishes(line, runtime, this.holds);
    // Rule 8: after a reconnect of either connection anything may have been missed: every wait and every hold asks at once.
    const stopRenewed = line.onRenewed((what) => {
      if (what === "master") {
        this.holds.masterChanged();
        this.lastRequests.masterChanged();
      }
      this.waits.beatAll();
      this.holds.renewAll();
    });
    this.#stopListening = [stopRenewed, line.onBroken(() => this.holds.masterChanged())];
  }

  stateChanged(state: SessionState): void {
    if (state !== "connected") this.holds.contactBroken();
  }

  /** For operators, as long as the provider lives. */
  tellWhoItIs(record: { keepUp(): void; close(): void }): void {
    this.#identity = record;
    record.keepUp();
  }

  async close(waitMs: Millis): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.#identity?.close();
    this.waits.close();
    this.grantChannel.close();
    this.rooms.close();
    await this.line.close(waitMs);
  }
}
