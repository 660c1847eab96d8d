import type { Range } from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { type CheckedModule, checkModule } from '../check/check.ts'
import { type CompileOptions, hasErrors, withViews } from '../compile.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { indexSymbols } from '../symbols/index-symbols.ts'
import type { SymbolIndex } from '../symbols/symbol-index.ts'
import type { Module } from '../syntax/ast.ts'
import type { Identifier } from '../syntax/ast-expressions.ts'
import type { Span } from '../syntax/node.ts'
import { type ParseResult, parse } from '../syntax/parse.ts'
import { walk } from '../syntax/walk.ts'
import { checkTypes } from '../types/check-module.ts'
import type { TypedModule } from '../types/typed-module.ts'

export type AnalysisOptions = Omit<CompileOptions, 'script'>

/** Analysis of one version of an open file. Results are computed on first use. */
export class Analysis {
  readonly document: TextDocument
  readonly #options: AnalysisOptions
  #parsed: ParseResult | null = null
  #diagnostics: readonly Diagnostic[] | null = null
  #types: TypedModule | null = null
  #checked: CheckedModule | null = null
  #symbols: SymbolIndex | null = null
  #identifiers: ReadonlyMap<number, Identifier> | null = null

  constructor(document: TextDocument, options: AnalysisOptions) {
    // Copied, since the connection updates its document in place.
    this.document = TextDocument.create(document.uri, document.languageId, document.version, document.getText())
    this.#options = options
  }

  get text(): string {
    return this.document.getText()
  }

  /**
   * Parses a file with top-level statements as a script. A file with errors is parsed as the kind with fewer errors.
   */
  get parsed(): ParseResult {
    if (this.#parsed !== null) return this.#parsed
    const module = parse(this.text, { ...this.#options, script: false })
    this.#parsed = module
    if (!hasErrors(module.diagnostics)) return module
    const script = parse(this.text, { ...this.#options, script: true })
    if (script.diagnostics.length < module.diagnostics.length) this.#parsed = script
    return this.#parsed
  }

  get diagnostics(): readonly Diagnostic[] {
    const { diagnostics, module } = this.parsed
    this.#diagnostics ??= hasErrors(diagnostics) ? diagnostics : [...diagnostics, ...this.#findings(module)]
    return this.#diagnostics
  }

  #findings(module: Module): readonly Diagnostic[] {
    const { types, diagnostics } = this.#check(module)
    return withViews(module, this.text, types, diagnostics)
  }

  get types(): TypedModule {
    const { diagnostics, module } = this.parsed
    this.#types ??= hasErrors(diagnostics) ? checkTypes(module) : this.#check(module).types
    return this.#types
  }

  #check(module: Module): CheckedModule {
    this.#checked ??= checkModule(module, this.#options)
    return this.#checked
  }

  get symbols(): SymbolIndex {
    this.#symbols ??= indexSymbols(this.parsed.module, this.types)
    return this.#symbols
  }

  /** Names that are used as values, by their offsets. */
  get identifiers(): ReadonlyMap<number, Identifier> {
    if (this.#identifiers !== null) return this.#identifiers
    const found = new Map<number, Identifier>()
    walk(this.parsed.module, node => {
      if (node.kind === 'Identifier') found.set(node.start, node as Identifier)
      return true
    })
    this.#identifiers = found
    return found
  }

  /** Returns an analysis of the same file with another text. */
  with(text: string): Analysis {
    const { uri, languageId, version } = this.document
    return new Analysis(TextDocument.create(uri, languageId, version, text), this.#options)
  }

  range({ start, end }: Span): Range {
    return { start: this.document.positionAt(start), end: this.document.positionAt(end) }
  }
}
