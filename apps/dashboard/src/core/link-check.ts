import { InvalidArgumentError } from "@holdfast/core";
import { checkKnownKeys } from "@holdfast/core/internal";
import { type LinkTemplate, placeholders } from "../contract/link-templates.js";

/** Why a link could not be shown, or would be dangerous; `null` if it is right. */
export function linkProblem({ url, on }: LinkTemplate): string | null {
  const [, origin, rest] = /^(https?:\/\/[^/?#\\]+)(.*)$/s.exec(url) ?? [];
  if (origin === undefined || rest === undefined) return "url must begin with https:// or http:// and a host";
  // A client that chooses the name of a lock or an owner must not choose the server of the link.
  if (/[{}]/.test(origin))
    return "url has a placeholder in the host, where the value would choose the server";
  const names = [...rest.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const plain = rest.replace(/\{[^{}]*\}/g, "x");
  if (/[{}]/.test(plain)) return "url has a brace without its other half";
  if (!URL.canParse(origin + plain)) return "url is none";
  const { username, password } = new URL(origin + plain);
  if (username !== "" || password !== "")
    return "url has a name or a password in it, which the page would show to all users";
  try {
    checkKnownKeys(
      "url",
      Object.fromEntries(names.map((name) => [name, true])),
      new Set<string>(placeholders[on]),
    );
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return `${error.message.replace("the option", "the placeholder")} (of a link on: ${on})`;
  }
  return null;
}
