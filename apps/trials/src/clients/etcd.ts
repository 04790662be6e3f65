import { type DefinedRecipe, defineRecipe } from "@holdfast/chaos";

type Answer = Readonly<Record<string, string>> & {
  readonly header?: { readonly revision: string };
  readonly result?: { readonly TTL?: string };
};

/**
 * etcd's own Lock service over the JSON gateway; it runs etcd's `concurrency.Mutex` at the server. This client sends a
 * keep-alive three times in each lease. As in etcd's own client, the lease counts as over when no answer came for its
 * whole time. Token: the revision.
 */
const recipe: DefinedRecipe = defineRecipe({
  provides: { kinds: ["mutex"], servers: ["other"], tokens: true, tellsLoss: true },
  async open({ servers }) {
    if (servers.kind !== "other") throw new Error(`it knows no servers of kind ${servers.kind}`);
    const { host, port } = servers.address;
    async function ask(path: string, body: object, signal?: AbortSignal): Promise<Answer> {
      const response = await fetch(`http://${host}:${port}/v3/${path}`, {
        method: "POST",
        body: JSON.stringify(body),
        ...(signal && { signal }),
      });
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()) as Answer;
    }
    return {
      async acquire({ key, signal }) {
        const ttlMs = key.leaseMs;
        let provedMs = performance.now();
        const { ID } = await ask("lease/grant", { TTL: ttlMs / 1_000 }, AbortSignal.timeout(ttlMs));
        const lost = new AbortController();
        const keeping = setInterval(async () => {
          const sentMs = performance.now();
          if (sentMs - provedMs >= ttlMs) return over("no answer for as long as the lease lasts");
          const { result } = await ask("lease/keepalive", { ID }, AbortSignal.timeout(ttlMs)).catch(() => ({
            result: null,
          }));
          if (result === null) return;
          if (Number(result?.TTL ?? 0) > 0) provedMs = Math.max(provedMs, sentMs);
          else over("the lease is over");
        }, ttlMs / 3);
        const watch = setInterval(() => {
          if (performance.now() - provedMs >= ttlMs) over("no answer for as long as the lease lasts");
        }, 50);
        const stop = () => {
          clearInterval(keeping);
          clearInterval(watch);
        };
        const over = (why: string): void => {
          stop();
          lost.abort(new Error(why));
        };
        const end = async () => {
          stop();
          await ask("lease/revoke", { ID }, AbortSignal.timeout(ttlMs));
        };
        const name = Buffer.from(key.name).toString("base64");
        try {
          const waiting = AbortSignal.any([signal, lost.signal]);
          const { header, key: own } = await ask("lock/lock", { name, lease: ID }, waiting);
          return {
            token: BigInt(header?.revision ?? 0),
            remainingMs: () => null,
            lost: lost.signal,
            async release() {
              await ask("lock/unlock", { key: own }, AbortSignal.timeout(ttlMs)).finally(end);
              return { end: "ok" };
            },
          };
        } catch (error) {
          // The error of the acquire is reported. A lease that could not be revoked ends by itself.
          void end().catch(() => {});
          throw error;
        }
      },
      meaning: () => "info",
      close: async () => {},
    };
  },
});
export default recipe;
