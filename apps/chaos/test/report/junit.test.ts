import { describe, expect, it } from "vitest";
import { junitXml } from "../../src/report/junit.js";
import { everyKind, outcome, runOf } from "./outcomes.js";

const xml = junitXml(everyKind());
const caseOf = (id: string): string => {
  const from = xml.indexOf(`name="${id} `);
  return xml.slice(from, xml.indexOf("</testcase>", from));
};

describe("junit.xml", () => {
  it("has a suite for each family of servers, and counts what is in it", () => {
    expect(xml).toContain(
      '<testsuites name="holdfast-chaos" tests="7" failures="2" errors="2" skipped="1" time="12.345">',
    );
    expect(xml).toContain('<testsuite name="zookeeper" tests="5" failures="1" errors="2" skipped="1"');
    expect(xml).toContain('<testsuite name="redis" tests="2" failures="1" errors="0" skipped="0"');
    expect(xml).not.toContain('name="checkers"');
    expect(junitXml(runOf(outcome({ scenario: { topology: { kind: "none" } } })))).toContain(
      'name="checkers"',
    );
  });

  it("passes a violation that was to be shown, with a property that says so", () => {
    expect(caseOf("R03")).toContain('<property name="demonstrated" value="lost-update"/>');
    expect(caseOf("R03")).not.toMatch(/<(failure|error|skipped)/);
    expect(caseOf("Z01")).not.toMatch(/<(failure|error|skipped)|demonstrated/);
  });

  it("fails an unexpected violation, and one that was not shown", () => {
    expect(caseOf("Z02")).toContain('<failure type="violation" message="k: both for 5.000 ms">mutex: 1 x');
    expect(caseOf("Z02")).toContain("records 2, 4: k: both for 5.000 ms");
    expect(caseOf("R05")).toContain('<failure type="not demonstrated" message="mutex convicted nothing');
  });

  it("calls too little evidence and a broken runner errors, and a machine that lacks something skipped with the reason", () => {
    expect(caseOf("Z03")).toContain('<error type="unknown" message="k1 has 3 of 20 grants">');
    expect(caseOf("Z09")).toContain('<error type="broken" message="no server? came up">');
    expect(caseOf("Z08")).toContain('<skipped message="missing here: namespaces"/>');
  });

  it("is well formed whatever a checker says", () => {
    expect(xml).toContain("&lt;b&gt; &amp; &quot;c&quot;");
    const open: string[] = [];
    for (const [tag, close, name, , self] of xml.matchAll(
      /<(\/?)([a-z-]+)((?:\s[a-z]+="[^"<]*")*)\s*(\/?)>/g,
    )) {
      if (close === "/") expect(open.pop(), tag).toBe(name);
      else if (self === "") open.push(name ?? "");
    }
    expect(open).toEqual([]);
    expect(xml.replace(/<\?xml[^>]*\?>|<\/?[a-z-]+(?:\s[a-z]+="[^"<]*")*\s*\/?>/g, "")).not.toMatch(/[<>]/);
  });
});
