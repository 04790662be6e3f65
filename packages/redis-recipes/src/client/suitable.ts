import { BackendError } from "@holdfast/core";
import { branded } from "@holdfast/core/internal";
import type { Command, Outcome } from "./commands.js";
import { type LinkErrorDetails, NotSentError } from "./errors.js";
import { MissingRightError, missingRights } from "./rights.js";
import type { ServerInfo } from "./server-info.js";

/** The oldest version that is tested. Older servers lack commands that scripts and the probe of rights use. */
const oldest = [7, 0] as const;

/** The server is older than the oldest tested version. Not retried. */
export class ServerTooOldError extends BackendError {
  override readonly name = "ServerTooOldError";
  /** The version that the server gives. */
  readonly version: string;

  constructor(version: string, details: LinkErrorDetails) {
    super(`Redis ${version} is too old: ${oldest.join(".")} or later is needed`, {
      ...details,
      backend: "redis",
      retryable: false,
    });
    this.version = version;
  }
}
branded(ServerTooOldError, "ServerTooOldError");

/** One node of a cluster was given as a single server. It would refuse the names that other nodes serve. Not retried. */
export class ClusterNodeError extends BackendError {
  override readonly name = "ClusterNodeError";

  constructor(details: LinkErrorDetails) {
    super(
      "this server is part of a cluster: use the option cluster, or as client a Cluster of ioredis, instead of a single server",
      { ...details, backend: "redis", retryable: false },
    );
  }
}
branded(ClusterNodeError, "ClusterNodeError");

/** Sent to each node of a cluster: a node that sees too few of the others serves nothing. */
export const clusterState: Command = ["cluster", "info"];

export interface Probed {
  readonly rights: Outcome | undefined;
  /** The answer to `clusterState`; `undefined` where there is no cluster. */
  readonly state: Outcome | undefined;
}

/** Why locks cannot be trusted to a master; `null` when they can. */
export function unsuitable(
  { version, clustered }: ServerInfo,
  { rights, state }: Probed,
  details: LinkErrorDetails,
): BackendError | null {
  if (isTooOld(version)) return new ServerTooOldError(version, details);
  if (clustered && state === undefined) return new ClusterNodeError(details);
  if (rights !== undefined && "error" in rights && rights.error instanceof MissingRightError)
    return rights.error;
  const { needed } = missingRights(rights);
  if (needed.length > 0) {
    return new MissingRightError(needed, "asked when connecting, the server denies them", details);
  }
  if (state === undefined) return null;
  if ("error" in state) return state.error;
  if (/^cluster_state:ok\b/m.test(String(state.reply))) return null;
  return new NotSentError("the cluster is down: its nodes do not serve all slots", details);
}

/** A version that cannot be parsed counts as new enough. */
function isTooOld(version: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
}
