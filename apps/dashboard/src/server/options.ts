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

/**
 * Options of `fastifyHoldfast`. At least one of `authenticate`, `users`, `tokens` and `anonymous` must be given; they
 * say who may come in.
 */
export interface HoldfastOptions {
  /** The clusters that are shown. The plugin does not close their collectors: the caller that created them does. */
  readonly clusters: readonly NamedCollector[];
  /**
   * Asked first, for sign-in by OIDC, by a session of the host, or by a proxy's header. `null`: the other ways are
   * tried. For an open stream it is asked again, with the request that began the stream, every `authenticateAgainMs`.
   */
  readonly authenticate?: Authenticate;
  /**
   * How often the caller of an open stream is checked again, in milliseconds; default 120,000. A stream ends if its
   * caller has another name or role by then, or is not let in. It also ends if the hook rejects, or gives no answer for
   * 10 s.
   */
  readonly authenticateAgainMs?: number;
  /**
   * Users with name and password (HTTP Basic). A function is called at each request, and every second for open streams.
   * It must return another array when the users have changed.
   */
  readonly users?: Live<readonly BasicUser[]>;
  /** Tokens of `authorization: Bearer`. A function is called as that of `users`. */
  readonly tokens?: Live<readonly BearerToken[]>;
  /** Problems of the dashboard itself, shown as findings. Default: none. */
  readonly ownFindings?: () => readonly OwnFinding[];
  /** The caller of a request without credentials. Default: such a request is refused. */
  readonly anonymous?: Principal;
  /**
   * Answers only requests that use a loopback name for this server. Default: false; needed if no credentials are asked
   * for.
   */
  readonly loopbackNames?: boolean;
  /** Default false: no lock can be changed. */
  readonly actions?: boolean;
  /** Where operators' actions are written down: a file of JSON lines, a webhook, or both. Default: neither. */
  readonly audit?: Pick<AuditOptions, "file"> & { readonly webhook?: Omit<WebhookOptions, "onFailure"> };
  /**
   * The history of locks, from `openHistory()`. The plugin does not close it. Default: the last turns of each lock, in
   * memory.
   */
  readonly history?: History;
  /**
   * From this age in milliseconds a hold on Redis is a finding; default 300,000. For ZooKeeper the collector has the
   * option.
   */
  readonly longHoldMs?: number;
  /** Whether /metrics needs no credentials. Default false. */
  readonly publicMetrics?: boolean;
  /** Options of the metrics: groups, rows of the `top_` metrics, and the address that alerts link to. */
  readonly metrics?: ExporterOptions;
  /** Links that lead out of the dashboard, beside locks, their holders and sessions. Default: none. */
  readonly links?: readonly LinkTemplate[];
  /** The built page; default: the one in this package. */
  readonly pageDirectory?: string;
  /**
   * A viewer that reads nothing of a stream or an answer for so many milliseconds is disconnected; default 30,000. One
   * that has not read an answer within ten times as long is disconnected too.
   */
  readonly undrainedMs?: number;
  /** The most open pages of one name at one address; default 20. */
  readonly streamsPerCaller?: number;
}
