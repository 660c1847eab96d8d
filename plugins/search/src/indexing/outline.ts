import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Node, Parser, TreeCursor } from '@vscode/tree-sitter-wasm'

/** Named definition in a source file. */
export interface SourceSymbol {
  readonly name: string
  /** Such as `function` or `class`. */
  readonly kind: string
  /** First and last line, from 1. */
  readonly line: number
  readonly endLine: number
}

/** Grammars by file extension. */
const GRAMMARS: Readonly<Record<string, string>> = {
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  tsx: 'tsx',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  py: 'python',
  rs: 'rust',
  go: 'go',
  java: 'java',
  rb: 'ruby',
  php: 'php',
  cs: 'c-sharp',
  cpp: 'cpp',
  cc: 'cpp',
  cxx: 'cpp',
  hpp: 'cpp',
  h: 'cpp',
  c: 'cpp'
}

/** Kind by the type of the syntax node, over all grammars. */
const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    function:
      'function_declaration generator_function_declaration function_definition function_item function_signature',
    method: 'method_definition method_declaration method abstract_method_signature constructor_declaration',
    class: 'class_declaration abstract_class_declaration class_definition class class_specifier record_declaration',
    interface: 'interface_declaration trait_item trait_declaration',
    type: 'type_alias_declaration type_item type_spec struct_item struct_specifier union_item struct_declaration',
    enum: 'enum_declaration enum_item enum_specifier',
    module: 'internal_module mod_item module namespace_definition namespace_declaration',
    constant: 'variable_declarator const_item static_item const_spec',
    macro: 'macro_definition'
  }).flatMap(([kind, types]) => types.split(' ').map(type => [type, kind] as const))
)

/** Nodes whose children may be definitions. Bodies of functions are not looked into. */
const CONTAINERS: ReadonlySet<string> = new Set(
  [
    'program source_file translation_unit compilation_unit export_statement ambient_declaration class_body',
    'declaration_list block decorated_definition lexical_declaration variable_declaration type_declaration',
    'const_declaration statement_block impl_item linkage_specification body_statement template_declaration',
    'field_declaration_list expression_statement'
  ].flatMap(names => names.split(' '))
)
const FUNCTIONS: ReadonlySet<string> = new Set(['function', 'method', 'constant', 'macro', 'type'])

/** Whether the symbols of a file can be found. */
export function hasOutline(path: string): boolean {
  return grammarOf(path) !== undefined
}

function grammarOf(path: string): string | undefined {
  return GRAMMARS[/\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '']
}

const PARSE_MS = 250
const MAX_CHARS = 262_144
const MAX_SYMBOLS = 2_000
const MAX_DEPTH = 24
const MAX_NAME_CHARS = 200

type Module = typeof import('@vscode/tree-sitter-wasm')

/** Finds the definitions in source files. Grammars are loaded at their first use. */
export class Outlines {
  readonly #folder: string
  readonly #module: Module
  readonly #parsers = new Map<string, Parser>()

  private constructor(module: Module, folder: string) {
    this.#module = module
    this.#folder = folder
  }

  static async open(): Promise<Outlines> {
    const require = createRequire(import.meta.url)
    const main = require.resolve('@vscode/tree-sitter-wasm')
    const module = require(main) as Module
    await module.Parser.init({ locateFile: (name: string) => join(dirname(main), name) })
    return new Outlines(module, dirname(main))
  }

  /** Returns the definitions of a file; none for other languages, long files, and those that take too long to parse. */
  async outline(path: string, text: string): Promise<readonly SourceSymbol[]> {
    const grammar = grammarOf(path)
    if (grammar === undefined || text.length > MAX_CHARS) return []
    const parser = await this.#parser(grammar)
    const endsAt = performance.now() + PARSE_MS
    const tree = parser.parse(text, null, { progressCallback: () => performance.now() > endsAt })
    if (tree === null) {
      parser.reset()
      return []
    }
    const cursor = tree.walk()
    try {
      const found: SourceSymbol[] = []
      collect(cursor, found, 0)
      return found
    } finally {
      cursor.delete()
      tree.delete()
    }
  }

  async #parser(grammar: string): Promise<Parser> {
    const known = this.#parsers.get(grammar)
    if (known !== undefined) return known
    const language = await this.#module.Language.load(await readFile(join(this.#folder, `tree-sitter-${grammar}.wasm`)))
    const parser = new this.#module.Parser()
    parser.setLanguage(language)
    this.#parsers.set(grammar, parser)
    return parser
  }
}

/** Words of a name in lower case, for example `read`, `file` and `readfile` of `readFile`. */
export function nameWords(name: string): readonly string[] {
  const words = name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  return [...new Set([...words, name.toLowerCase()])].filter(word => word !== '')
}

function collect(cursor: TreeCursor, found: SourceSymbol[], depth: number): void {
  if (depth > MAX_DEPTH || !cursor.gotoFirstChild()) return
  do {
    if (found.length === MAX_SYMBOLS) break
    if (!cursor.nodeIsNamed) continue
    const type = cursor.nodeType
    const kind = KINDS.get(type)
    if (kind !== undefined) add(cursor, kind, found)
    if (kind === undefined ? CONTAINERS.has(type) : !FUNCTIONS.has(kind)) collect(cursor, found, depth + 1)
  } while (cursor.gotoNextSibling())
  cursor.gotoParent()
}

function add(cursor: TreeCursor, kind: string, found: SourceSymbol[]): void {
  const node = cursor.currentNode
  const name = nameOf(node)
  if (name === null) return
  found.push({ name, kind, line: node.startPosition.row + 1, endLine: node.endPosition.row + 1 })
}

function nameOf(node: Node): string | null {
  let named: Node | null = node.childForFieldName('name')
  // C and C++ keep the name in the declarator.
  let declarator: Node | null = named === null ? node.childForFieldName('declarator') : null
  for (let depth = 0; declarator !== null && depth < MAX_DEPTH; depth++) {
    named = declarator
    declarator = declarator.childForFieldName('declarator')
  }
  const text = named?.text.trim() ?? ''
  // Patterns such as `{ a, b }` are no names.
  return /^[\p{L}_$#~][\p{L}\p{N}_$:?!=~#]*$/u.test(text) && text.length <= MAX_NAME_CHARS ? text : null
}
