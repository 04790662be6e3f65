import type { AuditOptions } from "../actions/audit-log.js";
import type { WebhookOptions } from "../actions/webhook.js";
import type { BasicUser, BearerToken, Live } from "../auth/credentials.js";
import type { Principal } from "../auth/roles.js";
import type { LinkTemplate } from "../contract/link-templates.js";
import type { NamedCollector } from "../core/cluster-row.js";
import type { OwnFinding } from "../core/own-findings.js";
import type { ExporterOptions } from "../exporter/index.js";
import type { History } from "../history/lasting-history.js";
import type { Authenticate } from "./access.js";

/** Options of `fastifyHoldfast`. At least one of `authenticate`, `users`, `tokens` and `anonymous` says who may come in. */
export interface HoldfastOptions {
  /** The clusters that are shown. The plugin does not close their collectors: the caller that created them does. */
  readonly clusters: readonly NamedCollector[];
  /**
   * Asked first, for sign-in by OIDC, a session of the host's own, or a proxy's header. `null`: the other ways are tried. For an open stream it is asked
   * again with the request that has begun it, every `authenticateAgainMs`.
   */
  readonly authenticate?: Authenticate;
  /**
   * How often an open stream's caller is asked for again, in milliseconds; default 120,000. A stream whose caller has another name or role by
   * then, or none, ends. So it does where the hook rejects, or gives no answer for 10 s.
   */
  readonly authenticateAgainMs?: number;
  /**
   * Users with name and password (HTTP Basic). A function is asked at each request, and every second for open streams: it gives another array
   * when they have changed.
   */
  readonly users?: Live<readonly BasicUser[]>;
  /** Tokens of `authorization: Bearer`. A function is asked as that of `users`. */
  readonly tokens?: Live<readonly BearerToken[]>;
  /** What is wrong with the dashboard itself, shown as findings. Default: nothing. */
  readonly ownFindings?: () => readonly OwnFinding[];
  /** The caller of a request without credentials. Default: such a request is refused. */
  readonly anonymous?: Principal;
  /** Answer only requests that call us by a loopback name. Default: false; needed where no credentials are asked for. */
  readonly loopbackNames?: boolean;
  /** Default false: no lock can be changed. */
  readonly actions?: boolean;
  /** Where acts are written down: a file of JSON lines, a webhook, or both. Default: neither. */
  readonly audit?: Pick<AuditOptions, "file"> & { readonly webhook?: Omit<WebhookOptions, "onFailure"> };
  /** What locks did, from `openHistory()`. The plugin does not close it. Default: the last turns of each lock, in memory. */
  readonly history?: History;
  /** From this age on a hold on Redis is a finding; default 300,000. For ZooKeeper it is an option of the collector. */
  readonly longHoldMs?: number;
  /** /metrics without credentials. Default false. */
  readonly publicMetrics?: boolean;
  /** What of the metrics is chosen: groups, rows of the `top_` metrics, and the address that alerts link to. */
  readonly metrics?: ExporterOptions;
  /** Links that lead out of the dashboard, beside locks, their holders and sessions. Default: none. */
  readonly links?: readonly LinkTemplate[];
  /** The built page; default: the one in this package. */
  readonly pageDirectory?: string;
  /** A viewer that takes nothing of a stream or of an answer for so long is disconnected; default 30,000. */
  readonly undrainedMs?: number;
  /** Open pages of one name at one address; default 20. */
  readonly streamsPerCaller?: number;
}
