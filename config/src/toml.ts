import { createRequire } from 'node:module'
import type { ConfigProblem } from '@svc/plugin-sdk'
import type { AST } from 'toml-eslint-parser'
import { isTable, type Path, type Table } from './layers.ts'
import { tomlKey } from './toml-value.ts'

// Both parsers are loaded on first use. A run without a configuration file needs neither; without source positions,
// only the fast one is needed.
const load = createRequire(import.meta.url)

export interface Position {
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** Parses TOML into plain data. Dates become strings. */
export function parseToml(text: string): Table {
  const { parse } = load('#smol-toml') as typeof import('smol-toml')
  return plain(parse(text)) as Table
}

export function tryToml(text: string): Table | undefined {
  try {
    return parseToml(text)
  } catch {
    return undefined
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plain)
  return isTable(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)])) : value
}

/** Describes a syntax error with an excerpt. Its values are masked, since any of them may be a secret. */
export function syntaxProblem(error: unknown, text: string, file: string): ConfigProblem {
  const { line, column, message } = error as { line: number; column: number; message: string }
  const reason = message.split('\n', 1)[0]?.replace(/^Invalid TOML document: /, '') ?? 'not valid TOML'
  const source = maskValues(text.split(/\r?\n/)[line - 1] ?? '')
  return {
    severity: 'error',
    code: 'CFG_TOML_SYNTAX',
    message: `${reason}\n  ${line} | ${source}\n  ${' '.repeat(String(line).length)} | ${' '.repeat(column - 1)}^`,
    file,
    line,
    column
  }
}

/** A key with a value at the beginning of a line. Unlike the last line of Base64 text, which may end with `=`. */
export const LEADING_KEY = /^\s*([\w.-]+)\s*=(?=\s*[^\s=])/

/** Masks the values of a line, which may be a part of a document that is not valid. */
export function maskValues(line: string): string {
  if (/^\s*\[{1,2}[\w.\- ]*\]{0,2}\s*$/.test(line)) return line
  const key = LEADING_KEY.exec(line)?.[0] ?? ''
  return key + line.slice(key.length).replace(/[^\s=[\]{},"'#]/g, '*')
}

/** Key-value pair `a.b = 1` or table header `[a.b]` of a document. */
export interface TomlEntry {
  readonly path: Path
  readonly node: AST.TOMLKeyValue | AST.TOMLTable
}

/** Replaces a byte order mark, which the parser with positions refuses, without moving anything. */
function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, ' ')
}

/** Returns every key of a valid document in order, including those of inline tables. */
export function tomlEntries(text: string): readonly TomlEntry[] {
  const { parseTOML } = load('#toml-eslint-parser') as typeof import('toml-eslint-parser')
  const entries: TomlEntry[] = []
  const visit = (node: AST.TOMLKeyValue | AST.TOMLTable | AST.TOMLContentNode, base: Path): void => {
    if (node.type === 'TOMLTable') {
      const path = node.resolvedKey.map(String)
      entries.push({ path, node })
      for (const child of node.body) visit(child, path)
    } else if (node.type === 'TOMLKeyValue') {
      const path = [...base, ...node.key.keys.map(key => (key.type === 'TOMLBare' ? key.name : key.value))]
      entries.push({ path, node })
      visit(node.value, path)
    } else if (node.type === 'TOMLInlineTable') {
      for (const child of node.body) visit(child, base)
    } else if (node.type === 'TOMLArray') {
      node.elements.forEach((child, index) => {
        visit(child, [...base, String(index)])
      })
    }
  }
  for (const node of parseTOML(withoutMark(text), { tomlVersion: 'latest' }).body[0].body) visit(node, [])
  return entries
}

/** Returns the ranges of all comments of a valid document, in order. */
export function tomlComments(text: string): readonly (readonly [number, number])[] {
  const { parseTOML } = load('#toml-eslint-parser') as typeof import('toml-eslint-parser')
  return parseTOML(withoutMark(text), { tomlVersion: 'latest' }).comments.map(({ range }) => range)
}

/** Returns the position of each key, by {@link pathKey}. Empty if `toml-eslint-parser` cannot parse the document. */
export function tomlPositions(text: string): ReadonlyMap<string, Position> {
  const positions = new Map<string, Position>()
  let entries: readonly TomlEntry[]
  try {
    entries = tomlEntries(text)
  } catch {
    return positions
  }
  for (const { path, node } of entries) {
    const { line, column } = node.key.loc.start
    const here = { line, column: column + 1 }
    // A dotted key also defines its parent tables. Their position is their first occurrence.
    for (let length = 1; length < path.length; length++) {
      const outer = pathKey(path.slice(0, length))
      if (!positions.has(outer)) positions.set(outer, here)
    }
    positions.set(pathKey(path), here)
  }
  return positions
}

export function pathKey(path: Path): string {
  return JSON.stringify(path)
}

/** Formats a path as a dotted TOML key. */
export function keyText(path: Path): string {
  return path.map(tomlKey).join('.')
}
