import { isIP } from "node:net";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import type { RedisTargetOptions } from "@holdfast/redis-recipes";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import type { AttackedServers, TlsTexts } from "./addresses.js";

type Attacked<B extends AttackedServers["backend"]> = Extract<AttackedServers, { readonly backend: B }>;

/** The target for `redisLocks`. If the master uses TLS, its sentinels do too. */
export function redisOptions({ options, tls }: Attacked<"redis">): RedisTargetOptions {
  if (tls === null) return options;
  const secure = { tls: tlsOptions(tls) };
  const { sentinels } = options;
  return { ...options, ...secure, ...(sentinels && { sentinels: { ...sentinels, ...secure } }) };
}

/** The target for `zookeeperLocks`. */
export function zooKeeperOptions({
  options,
  tls,
}: Attacked<"zookeeper">): Pick<ZooKeeperLocksOptions, "connect" | "auth" | "tls"> {
  return tls === null ? options : { ...options, tls: tlsOptions(tls) };
}

/** The TLS options for connections through proxies, where the dialled address is not the one in the certificate. */
export function tlsOptions({ names, ...pem }: TlsTexts): ConnectionOptions {
  const [name, ...others] = names;
  // The server name (SNI) is sent only if the target has exactly one host name. With several it is not known here which
  // one is dialled, and an IP address may not be sent.
  const greeted = name !== undefined && others.length === 0 && isIP(name) === 0;
  return {
    ...pem,
    ...(greeted ? { servername: name } : {}),
    checkServerIdentity: (_, certificate) => {
      const wrong = names.map((each) => checkServerIdentity(each, certificate));
      return wrong.includes(undefined) ? undefined : wrong[0];
    },
  };
}
