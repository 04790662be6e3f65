import { type Static, Type } from "typebox";

const strict = { additionalProperties: false } as const;

const RoleSchema = Type.Enum(["viewer", "operator", "admin"]);
/** 30 days. */
export const longestMs = 2_592_000_000;
const MillisSchema = Type.Integer({ minimum: 1, maximum: longestMs });

/** Has exactly one of the two. */
export const SecretSchema = Type.Object(
  {
    file: Type.Optional(
      Type.String({ minLength: 1, description: "Its content, without the last line break." }),
    ),
    env: Type.Optional(Type.String({ minLength: 1, description: "Name of an environment variable." })),
  },
  strict,
);

/**
 * The TLS of a connection to a backend. An empty object means TLS with the authorities of the system. Paths are
 * relative to the configuration.
 */
export const TlsSchema = Type.Object(
  {
    ca: Type.Optional(Type.String({ minLength: 1, description: "File of the authorities to trust, PEM." })),
    cert: Type.Optional(Type.String({ minLength: 1, description: "File of our certificate, PEM." })),
    key: Type.Optional(Type.String({ minLength: 1, description: "File of its key, PEM." })),
    passphrase: Type.Optional(SecretSchema),
    serverName: Type.Optional(
      Type.String({ minLength: 1, description: "In the server's certificate, where it is not the host." }),
    ),
  },
  strict,
);

const AddressSchema = Type.Object(
  { host: Type.String({ minLength: 1 }), port: Type.Integer({ minimum: 1, maximum: 65_535 }) },
  strict,
);

export const RootSchema = Type.Union([
  Type.String({ pattern: "^/" }),
  Type.Object(
    {
      path: Type.String({ pattern: "^/" }),
      naive: Type.Optional(
        Type.Boolean({ description: "Ephemeral nodes without children are naive mutexes. Default false." }),
      ),
    },
    strict,
  ),
]);

export const ZooKeeperSchema = Type.Object(
  {
    connect: Type.String({ minLength: 1, description: "h1:2181,h2:2181/chroot" }),
    roots: Type.Array(RootSchema, {
      description: "Where the locks are; `*` stands for one segment.",
    }),
    schedules: Type.Optional(
      Type.Object(
        {
          root: Type.Optional(Type.String({ pattern: "^(/[^/]+)+$", description: "Default /holdfast." })),
          namespace: Type.Optional(Type.String({ minLength: 1 })),
        },
        {
          ...strict,
          description:
            "Shows the last runs of @holdfast/schedules; `root` and `namespace` as in zookeeperLocks() of the program that runs them.",
        },
      ),
    ),
    sessionTimeoutMs: Type.Optional(MillisSchema),
    maxNodes: Type.Optional(
      Type.Integer({ minimum: 1, description: "A root with more below it is not read. Default 200000." }),
    ),
    adminPort: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        description: "Of AdminServer; 0: not asked. Default 8080.",
      }),
    ),
    auth: Type.Optional(
      Type.Array(Type.Object({ scheme: Type.String({ minLength: 1 }), secret: SecretSchema }, strict)),
    ),
    tls: Type.Optional(TlsSchema),
  },
  strict,
);

export const RedisSchema = Type.Object(
  {
    url: Type.Optional(Type.String({ pattern: "^rediss?://", description: "Without the password." })),
    sentinels: Type.Optional(
      Type.Object(
        {
          sentinels: Type.Array(AddressSchema, { minItems: 1 }),
          name: Type.String({ minLength: 1 }),
          username: Type.Optional(Type.String()),
          password: Type.Optional(SecretSchema),
          tls: Type.Optional(TlsSchema),
        },
        strict,
      ),
    ),
    cluster: Type.Optional(Type.Object({ nodes: Type.Array(AddressSchema, { minItems: 1 }) }, strict)),
    username: Type.Optional(Type.String()),
    password: Type.Optional(SecretSchema),
    tls: Type.Optional(TlsSchema),
    db: Type.Optional(Type.Integer({ minimum: 0 })),
    patterns: Type.Array(Type.String({ minLength: 1 }), {
      description: "Of lock names, as MATCH takes them. None: no scan.",
    }),
    schedules: Type.Optional(
      Type.Object(
        { keyPrefix: Type.Optional(Type.String({ minLength: 1 })) },
        {
          ...strict,
          description:
            "Shows the last runs of @holdfast/schedules; `keyPrefix` as in redisLocks() of the program that runs them.",
        },
      ),
    ),
    scanCallsPerSecond: Type.Optional(Type.Number({ minimum: 0.1, maximum: 1_000 })),
  },
  strict,
);

export const ClusterSchema = Type.Object(
  {
    name: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" }),
    zookeeper: Type.Optional(ZooKeeperSchema),
    redis: Type.Optional(RedisSchema),
  },
  strict,
);

const GroupsSchema = Type.Array(
  Type.Object(
    {
      match: Type.String({
        minLength: 1,
        description: "Glob for whole names of locks: * is anything, ? one character.",
      }),
      group: Type.String({
        pattern: "^.{1,64}$",
        description: "Their group; in metrics the label lock_group.",
      }),
    },
    strict,
  ),
  { maxItems: 100, description: "The first that matches; of other names what varies becomes *." },
);

/** The configuration file as a JSON schema. Unknown keys are refused. */
export const ConfigSchema = Type.Object(
  {
    /** Where the server listens; default port 8080 of 127.0.0.1. Port 0 takes a free one. */
    listen: Type.Optional(
      Type.Object(
        {
          host: Type.Optional(Type.String({ minLength: 1, description: "Default 127.0.0.1." })),
          port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description: "Default 8080." })),
        },
        strict,
      ),
    ),
    /** The path under which everything is served; default `/`. */
    basePath: Type.Optional(
      Type.String({ pattern: "^/([A-Za-z0-9._~-]+/)*[A-Za-z0-9._~-]*$", description: "Default /." }),
    ),
    /** The address at which people open the dashboard, `basePath` included. Alerts link to it. Default: they do not. */
    externalUrl: Type.Optional(
      Type.String({
        pattern: "^https?://[^\\s?#]+$",
        description: "Under which people open the dashboard, basePath included. Alerts link to it.",
      }),
    ),
    /**
     * Links beside locks, their holders (`owner`) and sessions that lead out of the dashboard, to logs or a ticket
     * system. Default: none.
     */
    links: Type.Optional(
      Type.Array(
        Type.Object(
          {
            title: Type.String({ pattern: "^.{1,64}$", description: "Its text." }),
            url: Type.String({
              minLength: 1,
              maxLength: 2_048,
              description:
                "https:// or http://, with placeholders such as {host} behind the name of the server.",
            }),
            on: Type.Enum(["lock", "owner", "session"], { description: "What it stands beside." }),
          },
          strict,
        ),
        { maxItems: 20 },
      ),
    ),
    /** Addresses or networks whose X-Forwarded headers are believed. Default none. */
    trustProxy: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: "Addresses or networks whose X-Forwarded headers are believed. Default none.",
      }),
    ),
    /**
     * The callers that may come in: users of a password file, bearer tokens, and viewers without credentials. Without it the
     * server listens at a loopback address only, and all callers are viewers, or with `actions` admins.
     */
    auth: Type.Optional(
      Type.Object(
        {
          basic: Type.Optional(
            Type.Object(
              { file: Type.String({ minLength: 1, description: "Lines of name:role:hash." }) },
              strict,
            ),
          ),
          bearer: Type.Optional(
            Type.Array(
              Type.Object(
                { name: Type.String({ minLength: 1 }), role: RoleSchema, token: SecretSchema },
                strict,
              ),
            ),
          ),
          anonymous: Type.Optional(
            Type.Enum(["viewer"], { description: "Who brings no credentials may look, from anywhere." }),
          ),
        },
        strict,
      ),
    ),
    /** Whether locks can be changed by this dashboard. Default false. */
    actions: Type.Optional(Type.Boolean({ description: "Default false: no lock can be changed." })),
    /** Where operators' actions are written down: a file of JSON lines, a webhook, or both. Default: neither. */
    audit: Type.Optional(
      Type.Object(
        {
          file: Type.Optional(Type.String({ minLength: 1, description: "JSON lines, appended." })),
          webhook: Type.Optional(
            Type.Object(
              { url: Type.String({ pattern: "^https?://" }), authorization: Type.Optional(SecretSchema) },
              strict,
            ),
          ),
        },
        strict,
      ),
    ),
    /**
     * What happened to locks, kept in a file that outlasts the process. Default: the last turns of each lock, in
     * memory.
     */
    history: Type.Optional(
      Type.Object(
        {
          file: Type.String({
            minLength: 1,
            description: "Made where it is not there. One for each dashboard.",
          }),
          maxMegabytes: Type.Optional(
            Type.Integer({
              minimum: 16,
              maximum: 65_536,
              description: "What it may take, its log included; old rows make room. Default 256.",
            }),
          ),
        },
        strict,
      ),
    ),
    /** How many pages one name may have open at one address, from 1 to 2,000. Default 20. */
    streamsPerCaller: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2_000,
        description: "Open pages of one name at one address. Default 20.",
      }),
    ),
    /** Which locks belong together. Default: names that differ only in numbers and ids. */
    groups: Type.Optional(GroupsSchema),
    /**
     * Whether `/metrics` needs credentials, and which names of locks it shows. `groups` in here has the meaning of the
     * outer `groups`; this is its former place.
     */
    metrics: Type.Optional(
      Type.Object(
        {
          public: Type.Optional(Type.Boolean({ description: "Scraped without credentials." })),
          topLocks: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 100,
              description:
                "Rows of each top_ metric, which have names of locks as labels; 0: none, and no finding_page, which carries their ids. Default 20.",
            }),
          ),
          groups: Type.Optional(GroupsSchema),
        },
        strict,
      ),
    ),
    /**
     * In milliseconds: from when on a hold counts as long (`longHoldMs`, default 300,000), and from when on an empty
     * parent on ZooKeeper counts as an orphan (`orphanAfterMs`, default 600,000).
     */
    thresholds: Type.Optional(
      Type.Object(
        {
          longHoldMs: Type.Optional(MillisSchema),
          orphanAfterMs: Type.Optional(MillisSchema),
        },
        strict,
      ),
    ),
    /** What is shown: ensembles of ZooKeeper and Redis servers, each under a name. */
    clusters: Type.Array(ClusterSchema),
  },
  strict,
);

/** What the configuration file may contain, and what `startDashboard()` takes. */
export type DashboardConfig = Static<typeof ConfigSchema>;
export type ClusterConfig = Static<typeof ClusterSchema>;
export type Root = Static<typeof RootSchema>;
export type Tls = Static<typeof TlsSchema>;
export type Secret = Static<typeof SecretSchema>;
