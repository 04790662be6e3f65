import type { ScopeContext } from "../api/acquiring.js";
import type { PrimitiveKind } from "../api/capabilities.js";
import type { CandidacyOptions, LeaderElection, LeadershipHandle, Participant } from "../api/election.js";
import { InvalidArgumentError } from "../api/errors.js";
import type { InspectOptions, LockSnapshot, ParticipantInfo } from "../api/inspect.js";
import type { AcquireSpec } from "../grants/acquire-spec.js";
import { claim } from "../grants/claim.js";
import type { GrantEngine } from "../grants/engine.js";
import {
  acquireKeys,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
} from "../options/acquire-options.js";
import { checkSignalAlone, show } from "../options/checks.js";
import { observeLatest } from "../signals/observe-latest.js";
import { leadLoop } from "./lead-loop.js";
import { Leadership } from "./leadership.js";
import { View } from "./view.js";

/**
 * Leader election over any driver: a queue whose head leads. Other clients see the `label` of a candidacy. The layout is that
 * of the driver: on ZooKeeper that of Curator's `LeaderLatch` or `LeaderSelector`.
 */
export class LeaderElectionView extends View implements LeaderElection {
  readonly #variant: string | null;

  /** `variant`: the driver's name for the layout. */
  constructor(
    engine: GrantEngine,
    kind: PrimitiveKind,
    name: string,
    defaults: ResolvedAcquireOptions,
    variant: string | null,
  ) {
    super(engine, kind, name, defaults);
    this.#variant = variant;
  }

  async campaign(options?: CandidacyOptions): Promise<LeadershipHandle> {
    return await this.#campaign(
      resolveAcquireOptions("campaign", options, this.defaults, acquireKeys.candidacy),
    );
  }

  /** Campaigns again after each term, also when the body has returned, like Curator's `LeaderSelector` with auto-requeue. */
  async lead(
    options: CandidacyOptions & { signal: AbortSignal },
    body: (term: LeadershipHandle, context: ScopeContext) => PromiseLike<void> | void,
  ): Promise<void> {
    const resolved = resolveAcquireOptions("lead", options, this.defaults, acquireKeys.candidacy);
    const { signal } = resolved;
    if (signal === undefined) {
      throw new InvalidArgumentError("lead: signal must be given; it is what ends it", {
        lockName: this.name,
      });
    }
    if (typeof body !== "function") {
      throw new InvalidArgumentError(`lead: the body must be a function; got ${show(body)}`);
    }
    await leadLoop(this.engine, signal, (end) => this.#campaign({ ...resolved, signal: end }), body);
  }

  async leader(): Promise<Participant | null> {
    return leaderIn(await this.#look({ maxPending: 0 }));
  }

  async participants(): Promise<readonly Participant[]> {
    const { held, pending } = await this.#look({});
    return [
      ...held.map((info) => participant(info, true)),
      ...pending.map((info) => participant(info, false)),
    ];
  }

  observe(options: { signal?: AbortSignal } = {}): AsyncIterable<Participant | null> {
    const { engine, kind, name } = this;
    const { driver } = engine;
    checkSignalAlone("observe", options);
    const { watch } = driver;
    if (watch === undefined) {
      throw engine.unsupported(`observe is not supported by the backend ${engine.backend}`, name);
    }
    return observeLatest(engine, () => ({
      subscribe: (changed) => watch.call(driver, kind, name, changed),
      read: () => this.leader(),
      same: (a, b) => a?.id === b?.id && a?.label === b?.label,
      signal: options.signal,
      name,
    }));
  }

  async #look(options: InspectOptions): Promise<LockSnapshot> {
    const { engine, kind, name } = this;
    if (engine.closed) throw engine.closedError(name);
    try {
      if (engine.link.state !== "connected") await engine.contact();
      return await engine.driver.inspect(kind, name, options);
    } catch (error) {
      throw engine.closed ? engine.closedError(name) : engine.typed(error, name);
    }
  }

  #campaign(options: ResolvedAcquireOptions): Promise<Leadership> {
    const { engine, kind, name } = this;
    const spec: AcquireSpec = {
      kind,
      name,
      mode: "exclusive",
      permits: 1,
      owner: engine.freshOwner(options.label),
      options,
      throws: true,
      variant: this.#variant,
      handleFrom: (hold) => new Leadership(hold, options),
    };
    return claim(engine, spec) as Promise<Leadership>;
  }
}

function leaderIn({ held }: LockSnapshot): Participant | null {
  const [first] = held;
  return first === undefined ? null : participant(first, true);
}

/** The id is the last part of the backend's own name. It is unique for each candidacy, so that a new term has a new id. */
function participant({ backendId, label }: ParticipantInfo, leader: boolean): Participant {
  const id = backendId.slice(backendId.lastIndexOf("/") + 1);
  return label === null ? { id, leader } : { id, label, leader };
}
