import { faults } from "./faults.js";
import type { Results } from "./results.js";
import { subjects } from "./subjects.js";
import { againOf, type Cell, cellsOf, measuredOf, seenOf, wordOf } from "./summary.js";

/** The content of the text as one page without a script. Each verdict opens, and a conviction links to its timeline. */
export function page(results: Results, missing: ReadonlyMap<string, string>): string {
  const cells = cellsOf(results);
  const head = subjects.map((subject) => {
    const { version } = measuredOf(subject, cells);
    const lacks = missing.get(subject.id);
    const about = [subject.configuration, version, lacks ?? ""].filter((each) => each !== "").join("; ");
    return `<th title="${html(about)}">${html(subject.name)}<small>${html(lacks === undefined ? version : "missing")}</small></th>`;
  });
  const rows = faults.map(({ id, words }) => {
    const own = cells.filter(({ fault }) => fault.id === id);
    return `<tr><th title="${html(words)}">${html(id)}</th>${own.map(cellHtml).join("")}</tr>`;
  });
  const figures = subjects.map((subject) => {
    const { handOffP99Ms, waitP99Ms, told } = measuredOf(subject, cells);
    const columns = [
      ms(handOffP99Ms),
      ms(waitP99Ms),
      told,
      subject.tokens,
      subject.configuration,
      subject.source,
    ];
    return `<tr><th>${html(subject.name)}</th>${columns.map((each) => `<td>${html(each)}</td>`).join("")}</tr>`;
  });
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The trials: which lock keeps what under which fault</title>
<style>${style}</style>
<h1>The trials: which lock keeps what under which fault</h1>
<table class="verdicts"><thead><tr><th></th>${head.join("")}</tr></thead><tbody>
${rows.join("\n")}
</tbody></table>
<p>* documented as out of scope. † measured before the present code of the runner or of this lock. A verdict opens to what shows it; hover over a fault or a subject for more.</p>
<table><thead><tr><th></th><th>hand-off p99, 64 waiters</th><th>wait p99</th><th>how a loss is reported</th><th>tokens</th><th>configuration</th><th>documented at</th></tr></thead><tbody>
${figures.join("\n")}
</tbody></table>
</html>
`;
}

function cellHtml(cell: Cell): string {
  const { verdict, says, shown, subject, fault, outOfScope, earlier } = cell;
  const star = verdict === "convicted" && outOfScope !== null ? " *" : "";
  const kind =
    verdict === "convicted" ? "convicted" : verdict === "kept" || verdict === "chance" ? "kept" : "open";
  const word = `${html(wordOf(cell))}${star}${earlier ? " †" : ""}`;
  if (shown === null) return `<td class="${kind}" title="${html(says)}">${word}</td>`;
  const timeline =
    shown.verdict === "convicted"
      ? `<p><a href="runs/${subject.id}-${fault.id}-${shown.seed}/timeline.html">timeline</a></p>`
      : "";
  const scope =
    outOfScope === null ? "" : `<p>Out of scope: ${html(outOfScope.says)} (${html(outOfScope.source)})</p>`;
  const about = [
    `<p>${html(says)}</p>${scope}${timeline}`,
    `<p>${[seenOf(cell), `seed ${shown.seed}`].filter((each) => each !== "").join("; ")}, version ${html(shown.version)}, ${html(subject.configuration)}</p>`,
    `<pre>${html(againOf(cell, shown.seed))}</pre>`,
  ];
  return `<td class="${kind}"><details><summary>${word}</summary>${about.join("")}</details></td>`;
}

const html = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const ms = (value: number | undefined): string => (value === undefined ? "" : `${Math.round(value)} ms`);

const style = `
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #1b1f24; background: #fff }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border: 1px solid #c9d1d9; padding: .35rem .5rem; text-align: left; vertical-align: top }
th small { display: block; font-weight: normal; color: #57606a }
.convicted { background: #ffdcd7 } .kept { background: #d7f5dd } .open { background: #f2f4f6; color: #57606a }
details p { max-width: 22rem } pre { white-space: pre-wrap; max-width: 22rem }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 } th, td { border-color: #3d444d } th small { color: #9198a1 }
  .convicted { background: #67231c } .kept { background: #12402a } .open { background: #1c2128; color: #9198a1 }
}
`;
