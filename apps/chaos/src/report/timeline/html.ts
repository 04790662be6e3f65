import { createHash } from "node:crypto";
import type { TimelineData } from "./data.js";

/**
 * The whole page in one file. Its policy allows the one script and the one style by their hashes and nothing else: no
 * network and no other script, whatever a history contains.
 */
export function timelineHtml(
  data: TimelineData,
  rawLines: readonly string[],
  { script, style }: { script: string; style: string },
): string {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${escaped(`${data.scenario}: ${data.title}`)}</title>`,
    `<style>${style}</style>`,
    "</head>",
    "<body>",
    '<noscript><p class="noscript">This timeline is drawn by a script inside this file. summary.md and results.json say the same in words.</p></noscript>',
    `<script type="application/json" id="data">${inScript(JSON.stringify(data))}</script>`,
    '<script type="application/jsonl" id="raw">',
    ...rawLines.map(inScript),
    "</script>",
    `<script>${script}</script>`,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

const hashOf = (text: string): string => `sha256-${createHash("sha256").update(text).digest("base64")}`;

/**
 * JSON that cannot end the script early, whatever text it contains. `<` occurs only inside strings, where its escape
 * means the same.
 */
const inScript = (json: string): string => json.replaceAll("<", "\\u003c");

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
