/** Syntax of comments and strings in a family of languages. */
export interface LexicalSyntax {
  readonly kind: 'brace' | 'python' | 'gdscript' | 'rust' | 'kotlin' | 'scala' | 'hash' | 'dash' | 'markup'
  readonly lineComments: readonly string[]
  /** True if a line comment must be at the start of a line or after white space. */
  readonly spacedComments?: boolean
  readonly blockComments: readonly (readonly [open: string, close: string])[]
  readonly nestedComments?: boolean
  /** String syntax, longest delimiter first. */
  readonly strings: readonly StringForm[]
}

interface StringForm {
  readonly open: string
  readonly close: string
  readonly multiline?: boolean
  /** True if a backslash escapes the next character. */
  readonly escapes?: boolean
}

const DOUBLE: StringForm = { open: '"', close: '"', escapes: true }
const SINGLE: StringForm = { open: "'", close: "'", escapes: true }
const TEMPLATE: StringForm = { open: '`', close: '`', escapes: true, multiline: true }
const TRIPLE_DOUBLE: StringForm = { open: '"""', close: '"""', escapes: true, multiline: true }
const TRIPLE_SINGLE: StringForm = { open: "'''", close: "'''", escapes: true, multiline: true }

const SLASHES = { lineComments: ['//'], blockComments: [['/*', '*/']] } as const

const brace: LexicalSyntax = { kind: 'brace', ...SLASHES, strings: [DOUBLE, SINGLE, TEMPLATE] }
const jvm: LexicalSyntax = { kind: 'brace', ...SLASHES, strings: [TRIPLE_DOUBLE, DOUBLE, SINGLE] }
const python: LexicalSyntax = {
  kind: 'python',
  lineComments: ['#'],
  blockComments: [],
  strings: [TRIPLE_DOUBLE, TRIPLE_SINGLE, DOUBLE, SINGLE]
}
/** GDScript. */
const gdscript: LexicalSyntax = { ...python, kind: 'gdscript' }
const hash: LexicalSyntax = {
  kind: 'hash',
  lineComments: ['#'],
  spacedComments: true,
  blockComments: [],
  strings: [DOUBLE, SINGLE]
}
const dash: LexicalSyntax = {
  kind: 'dash',
  lineComments: ['--'],
  blockComments: [
    ['--[[', ']]'],
    ['{-', '-}'],
    ['/*', '*/']
  ],
  strings: [DOUBLE, SINGLE]
}
const markup: LexicalSyntax = { kind: 'markup', lineComments: [], blockComments: [['<!--', '-->']], strings: [] }
/** In Rust, a single quote may also start a lifetime, so it is not a delimiter; strings may span lines. */
const rust: LexicalSyntax = {
  kind: 'rust',
  ...SLASHES,
  nestedComments: true,
  strings: [
    { open: 'r##"', close: '"##', multiline: true },
    { open: 'r#"', close: '"#', multiline: true },
    { ...DOUBLE, multiline: true }
  ]
}
const php: LexicalSyntax = {
  kind: 'brace',
  lineComments: ['//', '#'],
  blockComments: [['/*', '*/']],
  strings: [DOUBLE, SINGLE]
}

const BY_EXTENSION: ReadonlyMap<string, LexicalSyntax> = new Map(
  (
    [
      [brace, 'ts tsx mts cts js jsx mjs cjs go c h cc hh cpp hpp cxx m mm cs vox zig css scss less proto'],
      [jvm, 'java swift dart groovy gradle'],
      [{ ...jvm, kind: 'kotlin' }, 'kt kts'],
      [{ ...jvm, kind: 'scala' }, 'scala sc'],
      [rust, 'rs'],
      [python, 'py pyi pyx'],
      [gdscript, 'gd'],
      [hash, 'rb sh bash zsh fish pl pm r jl ex exs tcl nim'],
      [dash, 'sql lua hs elm'],
      [php, 'php'],
      [markup, 'vue svelte html htm xml']
    ] as const
  ).flatMap(([language, extensions]) => extensions.split(' ').map(extension => [extension, language] as const))
)

/** Returns the syntax for a file's path; null if it is not source code. */
export function languageOf(path: string): LexicalSyntax | null {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase()
  return extension === undefined ? null : (BY_EXTENSION.get(extension) ?? null)
}
