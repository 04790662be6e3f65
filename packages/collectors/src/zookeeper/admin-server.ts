import type { Millis } from "@holdfast/core";

/** `refused`: an AdminServer answers, but refuses this command. `down`: no AdminServer answers. */
export type AdminAnswer =
  | { readonly told: Readonly<Record<string, unknown>> }
  | { readonly failure: "refused" | "down"; readonly why: string };

/** Numbers past 2^53, which `JSON.parse` would round: session ids and zxids. */
const long = /"(session_id|last_zxid|last_processed_zxid|zxid)"\s*:\s*(-?\d+)/g;

/** A request to a port that a firewall drops costs the whole wait. Such a port is asked again only after this time. */
const silentForMs: Millis = 60_000;
/** The ports that did not answer in time, with the monotonic time until which each is not asked again. */
const silentUntilMs = new Map<string, Millis>();

/** Sends one command to an AdminServer. Never rejects. */
export async function askAdmin(
  host: string,
  port: number,
  command: "connections" | "dump" | "monitor" | "server_stats",
  withinMs: Millis,
): Promise<AdminAnswer> {
  const name = host.includes(":") ? `[${host}]` : host;
  const down = (why: string): AdminAnswer => ({ failure: "down", why: `${why} at port ${port}` });
  const address = `${name}:${port}`;
  if (performance.now() < (silentUntilMs.get(address) ?? 0))
    return down("no answer of an AdminServer a moment ago, and so not asked now,");
  try {
    const response = await fetch(`http://${name}:${port}/commands/${command}`, {
      signal: AbortSignal.timeout(withinMs),
      redirect: "error",
    });
    const answer = parsed(await response.text());
    if (answer === null) {
      return down(`something else than an AdminServer answers (HTTP ${response.status})`);
    }
    // A server without a quorum puts its refusal into the answer, as some releases do for a command that needs a password.
    if (answer.error != null || !response.ok) {
      const said = answer.error ?? `HTTP ${response.status}`;
      return { failure: "refused", why: `the AdminServer does not answer ${command}: ${said}` };
    }
    return { told: answer };
  } catch (error) {
    const late = error instanceof Error && error.name === "TimeoutError";
    if (late) silentUntilMs.set(address, performance.now() + silentForMs);
    return down(late ? `no answer of an AdminServer within ${withinMs} ms` : "there is no AdminServer");
  }
}

/** The answer of an AdminServer, which always names the command; `null` for any other text. */
function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const answer: unknown = JSON.parse(text.replaceAll(long, '"$1":"$2"'));
    if (typeof answer !== "object" || answer === null || !("command" in answer)) return null;
    return answer as Record<string, unknown>;
  } catch {
    return null;
  }
}
