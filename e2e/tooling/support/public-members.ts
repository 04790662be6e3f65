// Finds what users can name of a package, as the compiler resolves it. A member is found where it is declared, through any number
// of files that export it again and of types that inherit it. The compiler's interface is not stable yet, so the root's
// package.json fixes its version.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { isJSDoc, type JSDoc, ModifierFlags, type Node, SyntaxKind } from "typescript/unstable/ast";
import {
  API,
  type Checker,
  type Symbol as NamedSymbol,
  type Project,
  SymbolFlags,
  type Type,
} from "typescript/unstable/sync";

export interface PublicMember {
  /** Relative to the root. */
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  /** Its name after the name of its type: `LockHandle.release`. */
  readonly name: string;
  /** True if it has a comment or needs none. Each overload needs its own, since an editor shows each with its own comment. */
  readonly documented: boolean;
  /** Its comment has an `@example`. */
  readonly hasExample: boolean;
}

/**
 * Everything that `entries` export and that is declared below `root`, with its public members. `entries` are paths relative to
 * `root`.
 */
export function publicMembers(root: string, entries: readonly string[]): PublicMember[] {
  // The configuration is a file on disk. If the compiler got its files through call-backs, it would ask for each of them.
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "holdfast-members-"));
  const config = join(folder, "tsconfig.json");
  const sources = entries.map((entry) => join(root, entry));
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.base.json"),
      compilerOptions: { noEmit: true, allowJs: true, types: [], customConditions: ["@holdfast/source"] },
      files: sources,
    }),
  );
  const compiler = new API({ cwd: root });
  try {
    const project = compiler.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (!project) throw new Error("the compiler opened no project");
    const reading = new Reading(root, project);
    for (const source of sources) reading.module(source);
    return reading.found;
  } finally {
    compiler.close();
    rmSync(folder, { recursive: true });
  }
}

class Reading {
  readonly found: PublicMember[] = [];
  readonly #root: string;
  readonly #project: Project;
  readonly #checker: Checker;
  readonly #seen = new Set<number>();

  constructor(root: string, project: Project) {
    this.#root = root;
    this.#project = project;
    this.#checker = project.checker;
  }

  module(file: string): void {
    const source = this.#project.program.getSourceFile(file);
    const symbol = source && this.#checker.getSymbolAtLocation(source);
    if (!symbol) throw new Error(`${file} is no module`);
    for (const each of this.#checker.getExportsOfModule(symbol)) {
      const named = each.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(each) : each;
      if (this.#checker.isUnknownSymbol(named))
        throw new Error(`${file} exports ${each.name}, which is not there`);
      this.#symbol(named, named.name);
    }
  }

  #symbol(symbol: NamedSymbol, name: string): void {
    if (this.#seen.has(symbol.id)) return;
    this.#seen.add(symbol.id);
    const declarations = this.#declarations(symbol);
    if (declarations.length === 0) return;
    // A discriminant such as `kind: "redis"` needs no comment: its type says everything.
    const says = declarations.every(hasComment) || this.#isLiteral(symbol);
    for (const node of declarations) {
      const source = node.getSourceFile();
      this.found.push({
        file: relative(this.#root, source.fileName),
        line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1,
        name,
        documented: says || hasComment(node),
        hasExample: commentsOf(node).some(({ tags }) =>
          tags?.some(({ tagName }) => tagName.text === "example"),
        ),
      });
    }
    if (symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface | SymbolFlags.TypeAlias)) {
      this.#members(this.#checker.getDeclaredTypeOfSymbol(symbol), name);
    }
    if (symbol.flags & SymbolFlags.Class) {
      for (const each of symbol.getExports().values()) {
        if (!(each.flags & SymbolFlags.Prototype)) this.#symbol(each, `${name}.${shown(each)}`);
      }
    }
    const value = symbol.flags & (SymbolFlags.Variable | SymbolFlags.Property);
    if (value && declarations.some((node) => node.getText().includes("{"))) {
      this.#writtenInside(this.#checker.getTypeOfSymbol(symbol), declarations, name);
    }
  }

  #isLiteral(symbol: NamedSymbol): boolean {
    if (!(symbol.flags & SymbolFlags.Property)) return false;
    return this.#checker.getTypeOfSymbol(symbol)?.isLiteralType() === true;
  }

  /** The members of an unnamed type that is written in the declaration itself, as in `target: { host: string }`. */
  #writtenInside(type: Type | undefined, declarations: readonly Node[], name: string): void {
    if (!type) return;
    for (const part of type.isUnionType() || type.isIntersectionType() ? type.getTypes() : [type]) {
      const symbol = part.isObjectType() ? part.getSymbol() : undefined;
      if (!symbol || !(symbol.flags & (SymbolFlags.TypeLiteral | SymbolFlags.ObjectLiteral))) continue;
      const written = this.#declarations(symbol);
      if (written.some((node) => declarations.some((outer) => isInside(node, outer))))
        this.#members(part, name);
    }
  }

  #members(type: Type, name: string): void {
    if (type.isUnionType()) {
      for (const part of type.getTypes())
        if (part.isObjectType() || part.isIntersectionType()) this.#members(part, name);
    } else if (type.isObjectType() || type.isIntersectionType()) {
      for (const member of this.#checker.getPropertiesOfType(type))
        this.#symbol(member, `${name}.${shown(member)}`);
    }
  }

  /** The declarations in our own sources that users can see: each overload, but not the implementation behind them. */
  #declarations(symbol: NamedSymbol): Node[] {
    const nodes = symbol.declarations
      .map((handle) => handle.resolve(this.#project))
      .filter((node): node is Node => node !== undefined && this.#ours(node) && isPublic(node));
    const signatures = nodes.filter((node) => !("body" in node && node.body));
    return signatures.length > 0 ? signatures : nodes.slice(0, 1);
  }

  #ours(node: Node): boolean {
    const file = relative(this.#root, node.getSourceFile().fileName);
    return !file.startsWith("..") && !file.includes("node_modules");
  }
}

/** Turns the compiler's name `__@dispose@882` into `[Symbol.dispose]`. */
function shown({ name }: NamedSymbol): string {
  return name.replace(/^__@(\w+)@\d+$/, "[Symbol.$1]");
}

function isInside(node: Node, outer: Node): boolean {
  return node.getSourceFile() === outer.getSourceFile() && node.pos >= outer.pos && node.end <= outer.end;
}

function isPublic(node: Node): boolean {
  const named = node as Node & { modifierFlags?: ModifierFlags; name?: Node };
  const hidden = (named.modifierFlags ?? 0) & (ModifierFlags.Private | ModifierFlags.Protected);
  return !hidden && named.name?.kind !== SyntaxKind.PrivateIdentifier;
}

function hasComment(node: Node): boolean {
  return commentsOf(node).some(({ comment }) => (comment?.length ?? 0) > 0);
}

/** The comment of a constant stands before its whole statement. */
function commentsOf(node: Node): readonly JSDoc[] {
  const carrier = node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node;
  return (carrier.jsDoc ?? []).filter(isJSDoc);
}
