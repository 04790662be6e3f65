import { expect, it } from "vitest";
import { documentOf } from "../../../../packages/metrics/test/documents.js";
import { exporterCatalogue } from "../../src/exporter/index.js";

it("docs/metrics.md has the exporter's catalogue of today (HOLDFAST_WRITE_DOCS=1 writes it)", () => {
  const { is, shouldBe } = documentOf(new URL("../../docs/metrics.md", import.meta.url), exporterCatalogue);
  expect(is).toBe(shouldBe);
});
