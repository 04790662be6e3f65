import type { ActionAnswer, ActionBody, MuteBody } from "../../../src/contract/api.js";
import { apiUrl } from "../app/base.js";
import { ApiFailure, asProblem, kindOfStatus } from "./failure.js";

export type Query = Readonly<Record<string, string | number | undefined>>;

const patienceMs = 20_000;

export function pathWith(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

async function ask(path: string, init: RequestInit): Promise<{ status: number; body: unknown }> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(apiUrl(path), { credentials: "same-origin", ...init });
    // The head of an answer may come without the rest of it.
    text = await response.text();
  } catch (error) {
    if (init.signal?.aborted === true && init.signal.reason?.name !== "TimeoutError") throw error;
    throw new ApiFailure("unreachable", 0, "", "The dashboard's server does not answer.");
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    const kind = response.ok ? "broken" : kindOfStatus(response.status);
    throw new ApiFailure(
      kind,
      response.status,
      "",
      `Answer ${response.status}, and not of the API: a proxy's?`,
    );
  }
  return { status: response.status, body };
}

function failure(status: number, body: unknown): ApiFailure {
  const problem = asProblem(body);
  return new ApiFailure(
    kindOfStatus(status),
    status,
    problem?.error ?? "",
    problem?.message ?? `Answer ${status}.`,
  );
}

/** Sends a GET; resolves with the JSON of the answer. @throws {ApiFailure} */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const patience = AbortSignal.timeout(patienceMs);
  const both = signal === undefined ? patience : AbortSignal.any([signal, patience]);
  const { status, body } = await ask(path, { signal: both });
  if (status >= 400) throw failure(status, body);
  return body as T;
}

async function post(
  path: string,
  csrfToken: string,
  sent: unknown,
): Promise<{ status: number; body: unknown }> {
  return await ask(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": csrfToken },
    body: JSON.stringify(sent),
    signal: AbortSignal.timeout(patienceMs),
  });
}

/** Sends an action. A conflict is an answer too: it names the present holder. @throws {ApiFailure} */
export async function act(lockId: string, csrfToken: string, sent: ActionBody): Promise<ActionAnswer> {
  const { status, body } = await post(`locks/${encodeURIComponent(lockId)}/actions`, csrfToken, sent);
  const conflict = status === 409 && typeof body === "object" && body !== null && "outcome" in body;
  if (status >= 400 && !conflict) throw failure(status, body);
  return body as ActionAnswer;
}

/** @throws {ApiFailure} */
export async function mute(findingId: string, csrfToken: string, sent: MuteBody): Promise<void> {
  const { status, body } = await post(`findings/${encodeURIComponent(findingId)}/mute`, csrfToken, sent);
  if (status >= 400) throw failure(status, body);
}
