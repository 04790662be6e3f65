// Writes as one text what users can import of a package and how it is declared. The text is kept in `api/`, so that a review
// shows each change of it. It is read from the built declarations, since those have no bodies. Each exported name appears with
// its declaration, without comments. So does each name that such a declaration uses and that is not exported.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import { API, type Symbol as NamedSymbol, type Project, SymbolFlags } from "typescript/unstable/sync";

export interface Entries {
  readonly name: string;
  /** The absolute path of the built package. */
  readonly dist: string;
  /** Paths of declaration files below `dist`, by entry. */
  readonly files: ReadonlyMap<string, string>;
}

/** The reports by package name. One compiler reads all of them. */
export function apiReports(root: string, packages: readonly Entries[]): Map<string, string> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "holdfast-api-"));
  const config = join(folder, "tsconfig.json");
  const files = packages.flatMap(({ dist, files: each }) =>
    [...each.values()].map((file) => join(dist, file)),
  );
  const compilerOptions = { noEmit: true, types: [] };
  writeFileSync(
    config,
    JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, files }),
  );
  const compiler = new API({ cwd: root });
  try {
    const project = compiler.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (!project) throw new Error("the compiler opened no project");
    return new Map(packages.map((each) => [each.name, new Report(project, each).text()]));
  } finally {
    compiler.close();
    rmSync(folder, { recursive: true });
  }
}

class Report {
  readonly #project: Project;
  readonly #entries: Entries;
  /** Declarations that are in the text already, or will be. */
  readonly #seen = new Set<number>();
  /** Names that a declaration uses and that no entry exports so far. */
  readonly #named = new Map<number, NamedSymbol>();

  constructor(project: Project, entries: Entries) {
    this.#project = project;
    this.#entries = entries;
  }

  text(): string {
    const sections = [...this.#entries.files].map(([entry, file]) => ({
      title: `${this.#entries.name}${entry.slice(1)}`,
      symbols: this.#exports(join(this.#entries.dist, file)),
    }));
    for (const { symbols } of sections) for (const { symbol } of symbols) this.#seen.add(symbol.id);
    const texts = sections.map(({ title, symbols }) =>
      section(
        `from "${title}"`,
        symbols.map(({ name, symbol }) => this.#declared(symbol, name)),
      ),
    );
    const unexported: string[] = [];
    for (const symbol of this.#named.values()) unexported.push(this.#declared(symbol, symbol.name));
    if (unexported.length > 0) texts.push(section("used by these, and not exported", unexported));
    return texts.join("\n");
  }

  #exports(file: string): { name: string; symbol: NamedSymbol }[] {
    const source = this.#project.program.getSourceFile(file);
    const module = source && this.#project.checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} is no module`);
    return this.#project.checker
      .getExportsOfModule(module)
      .map((symbol) => ({ name: symbol.name, symbol: this.#meant(symbol) }));
  }

  #meant(symbol: NamedSymbol): NamedSymbol {
    return symbol.flags & SymbolFlags.Alias ? this.#project.checker.getAliasedSymbol(symbol) : symbol;
  }

  /** The declarations of a name. If another package declares it, they are in the report of that package. */
  #declared(symbol: NamedSymbol, name: string): string {
    const nodes = symbol.declarations.map((handle) => handle.resolve(this.#project));
    const own = nodes.filter((node): node is Node => node !== undefined && this.#isOwn(node));
    if (own.length === 0) return `export { ${name} } from another package;\n`;
    for (const node of own) this.#collect(node);
    const texts = own.map((node) => withoutComments(statementOf(node).getText()));
    return `${[...new Set(texts)].sort().join("\n")}\n`;
  }

  #isOwn(node: Node): boolean {
    return node.getSourceFile().fileName.startsWith(`${this.#entries.dist}/`);
  }

  #collect(node: Node): void {
    if (node.kind === SyntaxKind.Identifier) {
      const found = this.#project.checker.getSymbolAtLocation(node);
      const symbol = found && this.#meant(found);
      const kinds = SymbolFlags.Class | SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Enum;
      if (symbol && symbol.flags & kinds && !this.#seen.has(symbol.id)) {
        const [first] = symbol.declarations.map((handle) => handle.resolve(this.#project));
        if (first && this.#isOwn(first)) {
          this.#seen.add(symbol.id);
          this.#named.set(symbol.id, symbol);
        }
      }
    }
    node.forEachChild((child) => this.#collect(child));
  }
}

/** The declaration of a constant is its whole statement. */
function statementOf(node: Node): Node {
  return node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node;
}

function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\n/gm, "")
    .replace(/[ \t]+$/gm, "");
}

function section(title: string, declarations: readonly string[]): string {
  return `// ${title}\n\n${[...declarations].sort().join("\n")}`;
}
