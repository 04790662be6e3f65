import type { Millis, SessionState } from "@holdfast/core";
import type { RedisLine } from "../../client/redis-line.js";
import { WireOwners } from "../../layout/owners.js";
import { ChannelWaiters } from "../channels/channel-waiters.js";
import { PermitRevokeChannels } from "../channels/permit-revoke-channels.js";
import { Holds } from "../grants/holds.js";
import { KeptGrants } from "../grants/kept-grants.js";
import { LastRequests } from "../grants/last-requests.js";
import { GrantChannel, type UnknownGrant } from "../queue/grant-channel.js";
import { Waits } from "../queue/waits.js";
import { Requests } from "../requests/requests.js";

export interface ClientStateParts extends Pick<Requests, "line" | "runtime" | "settings"> {
  /** Called for a grant to an owner that this provider never used: see the event `unknown-grant`. */
  onUnknownGrant?(grant: UnknownGrant): void;
}

/** What all attempts and grants of one provider share: its waits, its holds, and its requests. */
export class RedisClientState {
  readonly line: RedisLine;
  readonly requests: Requests;
  readonly owners: WireOwners;
  readonly holds: Holds;
  /** `null` if the provider keeps no locks, so that keeping costs nothing. */
  readonly keptGrants: KeptGrants | null;
  readonly waits: Waits;
  readonly grantChannel: GrantChannel;
  readonly lastRequests: LastRequests;
  /** Requests that wait for messages on channels that other clients use too. */
  readonly channelWaiters: ChannelWaiters;
  readonly revokeChannels: PermitRevokeChannels;
  /** Each function ends something that runs until the provider closes. */
  readonly #stops: (() => void)[];

  constructor({ line, runtime, settings, onUnknownGrant = () => {} }: ClientStateParts) {
    const clockStepped = (runId: string): void => this.holds.clockStepped(runId);
    this.line = line;
    this.owners = new WireOwners(runtime.randomId(), settings.keeps);
    this.requests = new Requests({ line, runtime, settings, clockStepped });
    this.holds = new Holds(this.requests, this.owners);
    this.keptGrants = settings.keeps ? new KeptGrants(this.requests, () => this.grantChannel.hearing) : null;
    this.lastRequests = new LastRequests(this.requests);
    this.waits = new Waits(this.requests, this.holds);
    this.grantChannel = new GrantChannel(this, onUnknownGrant);
    this.channelWaiters = new ChannelWaiters(line, runtime);
    this.revokeChannels = new PermitRevokeChannels(this.requests, this.holds);
    // Rule 8: after a reconnect of either connection anything may have been missed, so every wait and every hold asks the server
    // at once.
    const stopRenewed = line.onRenewed((what) => {
      if (what === "master") {
        this.holds.masterChanged();
        this.lastRequests.masterChanged();
      }
      if (what === "subscriptions") this.holds.messagesMissed();
      this.waits.heartbeatAll();
      this.holds.renewAll();
    });
    this.#stops = [stopRenewed, line.onBroken(() => this.holds.masterChanged())];
  }

  stateChanged(state: SessionState): void {
    if (state !== "connected") this.holds.contactBroken();
  }

  /** `stop` is called when the provider closes. */
  onClose(stop: () => void): void {
    this.#stops.push(stop);
  }

  async close(waitMs: Millis): Promise<void> {
    for (const stop of this.#stops) stop();
    this.waits.close();
    this.keptGrants?.rounds.close();
    this.grantChannel.close();
    this.channelWaiters.close();
    await this.line.close(waitMs);
  }
}
