import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Language, Parser } from '@vscode/tree-sitter-wasm'
import type { Grammar } from './language.ts'
import { flatten, type SyntaxTree } from './syntax-tree.ts'
import { type CursorFunctions, initialise } from './tree-cursor.ts'

/** Kinds of nodes for the rules; bits of {@link NodeTypes.flags}. */
export const FUNCTION = 1
export const LOOP = 2
export const CALL = 4
export const STRING = 8
export const COMMENT = 16
export const IDENTIFIER = 32
export const BRANCH = 64

const FLAGGED: Readonly<Record<'script' | 'python' | 'rust', Readonly<Record<string, number>>>> = {
  script: {
    function_declaration: FUNCTION,
    function_expression: FUNCTION,
    generator_function: FUNCTION,
    generator_function_declaration: FUNCTION,
    arrow_function: FUNCTION,
    method_definition: FUNCTION,
    for_statement: LOOP,
    for_in_statement: LOOP,
    while_statement: LOOP,
    do_statement: LOOP,
    call_expression: CALL,
    new_expression: CALL,
    string: STRING,
    template_string: STRING,
    regex: STRING,
    jsx_text: STRING,
    comment: COMMENT,
    html_comment: COMMENT,
    hash_bang_line: COMMENT,
    identifier: IDENTIFIER,
    type_identifier: IDENTIFIER,
    shorthand_property_identifier: IDENTIFIER,
    shorthand_property_identifier_pattern: IDENTIFIER,
    if_statement: BRANCH
  },
  python: {
    function_definition: FUNCTION,
    lambda: 0,
    for_statement: LOOP,
    while_statement: LOOP,
    call: CALL,
    string: STRING,
    comment: COMMENT,
    identifier: IDENTIFIER,
    if_statement: BRANCH
  },
  rust: {
    function_item: FUNCTION,
    for_expression: LOOP,
    while_expression: LOOP,
    loop_expression: LOOP,
    call_expression: CALL,
    macro_invocation: CALL,
    string_literal: STRING,
    raw_string_literal: STRING,
    char_literal: STRING,
    line_comment: COMMENT,
    block_comment: COMMENT,
    identifier: IDENTIFIER,
    type_identifier: IDENTIFIER,
    shorthand_field_identifier: IDENTIFIER,
    if_expression: BRANCH
  }
}

/** Node types of a grammar. */
export interface NodeTypes {
  readonly names: readonly string[]
  /** 1 for named types, by type number. */
  readonly named: Uint8Array
  /** By type number: 1 if rules do not read the children, 2 if only those of a formatted string. */
  readonly leaf: Uint8Array
  readonly flags: Uint8Array
  /** Type numbers by name; a grammar may have several for one name. */
  ids(...names: readonly string[]): ReadonlySet<number>
  /** Number of a field; 0 if the grammar does not have it. */
  fieldId(name: string): number
}

type Module = typeof import('@vscode/tree-sitter-wasm')

/** Parsers of this thread. Grammars are loaded at their first use, and stay loaded. */
export class Grammars {
  readonly #folder: string
  readonly #module: Module
  readonly #cursor: CursorFunctions
  readonly #loaded = new Map<Grammar, { readonly parser: Parser; readonly types: NodeTypes }>()

  private constructor(module: Module, cursor: CursorFunctions, folder: string) {
    this.#module = module
    this.#cursor = cursor
    this.#folder = folder
  }

  static async open(): Promise<Grammars> {
    const require = createRequire(import.meta.url)
    const main = require.resolve('@vscode/tree-sitter-wasm')
    const module = require(main) as Module
    const folder = dirname(main)
    return new Grammars(module, await initialise(module, join(folder, 'tree-sitter.wasm')), folder)
  }

  async load(grammar: Grammar): Promise<NodeTypes> {
    const known = this.#loaded.get(grammar)
    if (known !== undefined) return known.types
    const bytes = readFileSync(join(this.#folder, `tree-sitter-${grammar}.wasm`))
    const language = await this.#module.Language.load(bytes)
    const parser = new this.#module.Parser()
    parser.setLanguage(language)
    const types = nodeTypes(language, grammar)
    this.#loaded.set(grammar, { parser, types })
    return types
  }

  /**
   * Parses a text. Returns null if that takes longer than `limitMs`, or if the tree has more than `maxNodes` nodes. Throws for
   * a grammar that was not loaded.
   */
  parse(grammar: Grammar, text: string, limitMs: number, maxNodes: number): SyntaxTree | null {
    const loaded = this.#loaded.get(grammar)
    if (loaded === undefined) throw new Error(`the grammar ${grammar} is not loaded`)
    const { parser, types } = loaded
    const endsAt = performance.now() + limitMs
    const tree = parser.parse(text, null, { progressCallback: () => performance.now() > endsAt })
    if (tree === null) {
      parser.reset()
      return null
    }
    try {
      return flatten(tree, text, this.#cursor, types, maxNodes)
    } finally {
      tree.delete()
    }
  }
}

function nodeTypes(language: Language, grammar: Grammar): NodeTypes {
  const flagged = FLAGGED[grammar === 'python' || grammar === 'rust' ? grammar : 'script']
  const count = language.nodeTypeCount
  const names: string[] = []
  const named = new Uint8Array(65_536)
  const flags = new Uint8Array(65_536)
  const leaf = new Uint8Array(65_536)
  for (let id = 0; id < count; id++) {
    const name = language.nodeTypeForId(id) ?? ''
    names.push(name)
    if (!language.nodeTypeIsNamed(id)) continue
    named[id] = 1
    const flag = (flags[id] = flagged[name] ?? 0)
    if ((flag & (COMMENT | STRING | IDENTIFIER)) !== 0 && name !== 'template_string')
      leaf[id] = grammar === 'python' && flag === STRING ? 2 : 1
  }
  return {
    names,
    named,
    leaf,
    flags,
    ids: (...wanted) => new Set(names.flatMap((name, id) => (named[id] === 1 && wanted.includes(name) ? [id] : []))),
    fieldId: name => language.fieldIdForName(name) ?? 0
  }
}
