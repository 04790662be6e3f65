import type { Millis } from "@holdfast/core";

/** What a command of the AdminServer answered; `null` where there is none, or it does not let us. */
export type AdminAnswer = Readonly<Record<string, unknown>> | null;

/** Numbers past 2^53, which `JSON.parse` would round: session ids and zxids. */
const long = /"(session_id|last_zxid|last_processed_zxid|zxid)"\s*:\s*(-?\d+)/g;

/** Never rejects. */
export async function askAdmin(
  host: string,
  port: number,
  command: "connections" | "dump" | "server_stats" | "commands",
  withinMs: Millis,
): Promise<AdminAnswer> {
  const name = host.includes(":") ? `[${host}]` : host;
  try {
    const path = command === "commands" ? "/commands" : `/commands/${command}`;
    const response = await fetch(`http://${name}:${port}${path}`, {
      signal: AbortSignal.timeout(withinMs),
      redirect: "error",
    });
    const text = await response.text();
    if (!response.ok) return null;
    if (command === "commands") return /commands\/(stat|server_stats|srvr)/.test(text) ? {} : null;
    const answer: unknown = JSON.parse(text.replaceAll(long, '"$1":"$2"'));
    if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return null;
    const { error, command: answered } = answer as Record<string, unknown>;
    return typeof answered === "string" && (error === null || error === undefined)
      ? (answer as Record<string, unknown>)
      : null;
  } catch {
    // Nobody there, somebody else's server, or not in time: then the four-letter words have to tell.
    return null;
  }
}
