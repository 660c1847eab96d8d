import { isDeepStrictEqual } from 'node:util'
import type { AST } from 'toml-eslint-parser'
import { configErrors } from './errors.ts'
import { isTable, type Path, type Table } from './layers.ts'
import { keyText, parseToml, syntaxProblem, type TomlEntry, tomlComments, tomlEntries, tryToml } from './toml.ts'
import { tomlKey, tomlValue } from './toml-value.ts'

/**
 * Changes keys of a TOML document and keeps the rest of the text: comments, order, layout, line endings. `changes` maps
 * dotted keys (`plugins.http.port`, `a."b c"`) to values; null removes a key. A table replaces a table key by key.
 *
 * The result is parsed and compared with the intended content, so a wrong edit cannot be returned. Throws
 * `CFG_TOML_SYNTAX` if the text is not valid TOML, and `CFG_EDIT_FAILED` if a key or value is not possible or the layout
 * cannot be edited.
 */
export function editToml(text: string, changes: Readonly<Record<string, unknown>>): string {
  try {
    return edited(text, changes)
  } finally {
    read.length = 0
  }
}

/**
 * Parses the keys of one change. Throws `CFG_EDIT_FAILED` if one is not a key, or is part of another: then the result
 * would depend on their order.
 */
export function parseKeys(keys: readonly string[]): readonly Path[] {
  const paths = keys.map(parseKey)
  for (const [index, path] of paths.entries()) {
    const other = paths.find((each, at) => at !== index && startsWith(each, path))
    if (other !== undefined) throw failed(other, `is part of ${keyText(path)}, which is changed too`)
  }
  return paths
}

function edited(text: string, changes: Readonly<Record<string, unknown>>): string {
  const before = parsed(text)
  if (!isReadable(text)) {
    throw configErrors.create('CFG_EDIT_FAILED', 'the layout of the file is not supported', { hint: 'edit it by hand' })
  }
  const values = Object.values(changes)
  const wanted = parseKeys(Object.keys(changes)).map((path, index) => ({ path, value: values[index] }))
  let intended = before
  for (const { path, value } of wanted) intended = withValue(intended, path, value)
  let result = text
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  for (const { path, value } of wanted) result = change(result, path, value, newline)
  if (isIntended(tryToml(result), intended, wanted)) return result
  throw failed(wanted[0]?.path ?? [], 'cannot be changed: the layout of the file is not supported')
}

/** Parses a dotted key as in a TOML document. Throws `CFG_EDIT_FAILED`. */
export function parseKey(key: string): Path {
  const document = `${key} = 0`
  if (!/[\r\n]/.test(key) && tryToml(document) !== undefined) {
    const [entry, ...others] = tomlEntries(document)
    const isKey = entry?.node.type === 'TOMLKeyValue' && entry.node.value.range[0] === key.length + 3
    if (entry !== undefined && others.length === 0 && isKey) return entry.path
  }
  throw configErrors.create('CFG_EDIT_FAILED', `${JSON.stringify(key)} is not a key of a TOML file`, {
    hint: 'write a dotted key such as plugins.http.port; quote parts with other characters: a."b c"'
  })
}

interface Wanted {
  readonly path: Path
  readonly value: unknown
}

function parsed(text: string): Table {
  try {
    return parseToml(text)
  } catch (error) {
    const { message, line = 1, column = 1 } = syntaxProblem(error, text, '')
    throw configErrors.create('CFG_TOML_SYNTAX', `line ${line}: ${message}`, { at: { line, column } })
  }
}

function failed(path: Path, reason: string): Error {
  return configErrors.create('CFG_EDIT_FAILED', `${keyText(path)} ${reason}`, {
    at: { path: keyText(path) },
    hint: 'edit the file by hand'
  })
}

/** Returns the content with the value at a path, or without it if the value is null. */
function withValue(table: Table, path: Path, value: unknown): Table {
  const [key = '', ...rest] = path
  const own = Object.hasOwn(table, key) ? table[key] : undefined
  const others = Object.entries(table).filter(([each]) => each !== key)
  if (rest.length === 0) return value === null ? Object.fromEntries(others) : put(table, key, value)
  if (own === undefined) return value === null ? table : put(table, key, withValue({}, rest, value))
  if (isTable(own)) return put(table, key, withValue(own, rest, value))
  if (value === null) return table
  throw failed(path, `cannot be set: ${key} is not a table`)
}

/** Returns the value at a path; undefined if it or a parent table is absent. */
function valueIn(table: Table, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (isTable(at) && Object.hasOwn(at, key) ? at[key] : undefined), table)
}

/** Sets an own property, also for a key such as `__proto__`. */
function put(table: Table, key: string, value: unknown): Table {
  return Object.fromEntries(new Map([...Object.entries(table), [key, value]]))
}

/** True if the content is the intended one. A removal may also remove tables that become empty. */
function isIntended(actual: Table | undefined, intended: Table, wanted: readonly Wanted[]): boolean {
  if (actual === undefined) return false
  const removed = wanted.filter(({ value }) => value === null)
  const plain = ({ value, path }: Wanted): boolean => value === null || isDeepStrictEqual(valueIn(actual, path), value)
  return (
    wanted.every(plain) &&
    isDeepStrictEqual(
      removed.reduce((table, { path }) => withoutEmpty(table, path.slice(0, -1)), actual),
      removed.reduce((table, { path }) => withoutEmpty(table, path.slice(0, -1)), intended)
    )
  )
}

/** Removes the table at a path if it is empty, then its parents. */
function withoutEmpty(table: Table, path: Path): Table {
  if (path.length === 0) return table
  const own = valueIn(table, path)
  const isEmpty = isTable(own) && Object.keys(own).length === 0
  return withoutEmpty(isEmpty ? withValue(table, path, null) : table, path.slice(0, -1))
}

/** Changes one key. Returns the text unchanged if it has the value. Throws `CFG_EDIT_FAILED`. */
function change(text: string, path: Path, value: unknown, newline: string): string {
  const current = valueIn(parsed(text), path)
  if (value === null ? current === undefined : isDeepStrictEqual(current, value)) return text
  if (isTable(value) && (isTable(current) || (current === undefined && Object.keys(value).length > 0))) {
    const keys = new Set([...Object.keys(current ?? {}), ...Object.keys(value)])
    // Keys are removed first, so that a table that is written inline is not empty in between.
    const ordered = [...keys].sort((a, b) => Number(Object.hasOwn(value, a)) - Number(Object.hasOwn(value, b)))
    const edited = ordered.reduce(
      (each, key) => change(each, [...path, key], Object.hasOwn(value, key) ? value[key] : null, newline),
      text
    )
    if (isDeepStrictEqual(valueIn(parsed(edited), path), value)) return edited
  }
  if (value === null) return without(text, path)
  const written = tomlValue(value)
  if (written === undefined)
    throw failed(path, 'cannot be set: the value contains null or another type that TOML lacks')
  const intended = withValue(parsed(text), path, value)
  for (const candidate of candidates(text, path, written, newline)) {
    if (isDeepStrictEqual(tryToml(candidate), intended) && isReadable(candidate)) return candidate
  }
  throw failed(path, 'cannot be set: the layout of the file is not supported')
}

type Pair = TomlEntry & { readonly node: AST.TOMLKeyValue }

function isPair(entry: TomlEntry): entry is Pair {
  return entry.node.type === 'TOMLKeyValue'
}

function startsWith(path: Path, start: Path): boolean {
  return path.length >= start.length && start.every((key, index) => path[index] === key)
}

function isAt(entry: TomlEntry, path: Path): boolean {
  return entry.path.length === path.length && startsWith(entry.path, path)
}

/** The last texts that were parsed, newest first: a text is read several times while one key is changed. */
const read: { readonly text: string; readonly entries: readonly TomlEntry[] }[] = []
const MAX_READ = 2

function entriesOf(text: string): readonly TomlEntry[] {
  if (text.trim() === '') return []
  const known = read.find(each => each.text === text)
  if (known !== undefined) return known.entries
  const entries = tomlEntries(text)
  read.unshift({ text, entries })
  read.length = Math.min(read.length, MAX_READ)
  return entries
}

/** True if the parser with positions accepts the text, too: otherwise the next edit would fail. */
function isReadable(text: string): boolean {
  try {
    entriesOf(text)
    return true
  } catch {
    return false
  }
}

/** Yields texts with the value, best layout first. Each may be invalid: the caller compares its content. */
function* candidates(text: string, path: Path, value: string, newline: string): Generator<string> {
  const splice = (from: number, to: number, insert: string): string => text.slice(0, from) + insert + text.slice(to)
  const entries = entriesOf(text)
  const pairs = entries.filter(isPair)
  const present = pairs.find(pair => isAt(pair, path))
  if (present !== undefined) {
    yield splice(...present.node.value.range, value)
    return
  }
  if (entries.some(entry => startsWith(entry.path, path))) {
    yield* candidates(without(text, path), path, value, newline)
    return
  }
  const key = (from: number): string => path.slice(from).map(tomlKey).join('.')
  const tables = entries.filter(({ node }) => node.type === 'TOMLTable' && node.kind === 'standard')
  const lengths = path.map((_, index) => path.length - 1 - index)
  const inTable = function* (length: number): Generator<string> {
    const table = tables.find(entry => isAt(entry, path.slice(0, length)))
    if (table === undefined) return
    const body = (table.node as AST.TOMLTable).body
    const last = body.at(-1)
    const line = lineAt(text, last?.range ?? headerRange(text, table.node as AST.TOMLTable))
    yield addedLine(
      text,
      line,
      last === undefined ? line.indent : lineAt(text, last.range).indent,
      `${key(length)} = ${value}`,
      newline
    )
  }
  // A long dotted key is harder to read than a table.
  for (const length of lengths) if (length > 0 && length >= path.length - 2) yield* inTable(length)
  for (const length of lengths) {
    const inline = pairs.find(pair => isAt(pair, path.slice(0, length)) && pair.node.value.type === 'TOMLInlineTable')
    if (inline?.node.value.type !== 'TOMLInlineTable') continue
    const { body, range } = inline.node.value
    const last = body.at(-1)
    const assignment = `${key(length)} = ${value}`
    if (last === undefined) yield splice(...range, `{ ${assignment} }`)
    else yield splice(last.range[1], last.range[1], `, ${assignment}`)
  }
  // `NAME.port = 1` inside [plugins] already defines the table of NAME: TOML forbids a later header [plugins.NAME].
  for (const length of lengths) {
    if (length === 0) break
    const sibling = pairs.findLast(pair => {
      const base = pair.path.length - pair.node.key.keys.length
      return (
        base < length && startsWith(pair.path, path.slice(0, length)) && pair.node.parent.type !== 'TOMLInlineTable'
      )
    })
    if (sibling === undefined) continue
    const line = lineAt(text, sibling.node.range)
    yield addedLine(
      text,
      line,
      line.indent,
      `${key(sibling.path.length - sibling.node.key.keys.length)} = ${value}`,
      newline
    )
  }
  if (path.length === 1) yield topLevel(text, entries, `${key(0)} = ${value}`, newline)
  const gap = text === '' ? '' : text.endsWith('\n') ? newline : newline + newline
  const header = path.slice(0, -1).map(tomlKey).join('.')
  if (path.length > 1) yield `${text}${gap}[${header}]${newline}${key(path.length - 1)} = ${value}${newline}`
  for (const length of lengths) if (length > 0 && length < path.length - 2) yield* inTable(length)
}

/** Adds a line at the end of the keys that precede the first table; without such keys, after the comment at the top. */
function topLevel(text: string, entries: readonly TomlEntry[], assignment: string, newline: string): string {
  const last = entries.filter(entry => isPair(entry) && entry.node.parent.type === 'TOMLTopLevelTable').at(-1)
  if (last !== undefined) {
    const line = lineAt(text, last.node.range)
    return addedLine(text, line, line.indent, assignment, newline)
  }
  const first = entries[0]?.node.range[0] ?? text.length
  const comment = /^\ufeff?(?:[ \t]*#[^\n]*\n)+(?:[ \t]*\r?\n)+/.exec(text.slice(0, first))?.[0].length
  const at = comment ?? (text.startsWith('\ufeff') ? 1 : 0)
  return `${text.slice(0, at)}${assignment}${newline}${text.slice(at)}`
}

/** Lines that a part of the text covers. */
interface Line {
  /** Offset of the first character of the first line. */
  readonly start: number
  /** Offset after the last character of the last line, before its line ending. */
  readonly end: number
  /** Offset after the line ending; the same as `end` at the end of a text without one. */
  readonly next: number
  /** White space before the first key. */
  readonly indent: string
}

function lineAt(text: string, [from, to]: readonly [number, number]): Line {
  const start = Math.max(text.lastIndexOf('\n', from - 1) + 1, text.startsWith('\ufeff') ? 1 : 0)
  const at = text.indexOf('\n', to)
  const indent = text.slice(start, from)
  if (at === -1) return { start, end: text.length, next: text.length, indent }
  return { start, end: text[at - 1] === '\r' ? at - 1 : at, next: at + 1, indent }
}

function addedLine(text: string, { end, next }: Line, indent: string, assignment: string, newline: string): string {
  return next > end
    ? `${text.slice(0, next)}${indent}${assignment}${newline}${text.slice(next)}`
    : `${text}${newline}${indent}${assignment}${newline}`
}

/** Range of `[a.b]` or `[[a.b]]`. */
function headerRange(text: string, table: AST.TOMLTable): [number, number] {
  const close = text.indexOf(']', table.key.range[1])
  return [table.range[0], close + (table.kind === 'array' ? 2 : 1)]
}

/** Removes a key, or a table with all its keys. Comments stay. */
function without(text: string, path: Path): string {
  let edited = text
  for (;;) {
    const entries = entriesOf(edited).filter(entry => startsWith(entry.path, path))
    if (entries.length === 0) return edited
    const next = withoutEntries(edited, entries)
    if (tryToml(next) === undefined || next.length >= edited.length) {
      throw failed(path, 'cannot be removed: the layout of the file is not supported')
    }
    edited = next
  }
}

/** Removes lines of keys and table headers; keys of inline tables one at a time, since their commas depend on others. */
function withoutEntries(text: string, entries: readonly TomlEntry[]): string {
  const comments = tomlComments(text)
  const inLines: [number, number][] = []
  let inline: AST.TOMLKeyValue | undefined
  for (const { node } of entries) {
    if (node.type === 'TOMLTable') inLines.push(headerRange(text, node))
    else if (node.parent.type === 'TOMLInlineTable') inline ??= node
    else inLines.push([node.range[0], node.range[1]])
  }
  if (inLines.length === 0 && inline !== undefined) return withoutMember(text, inline, comments)
  return inLines.sort(([a], [b]) => b - a).reduce((edited, range) => withoutLine(edited, range, comments), text)
}

type Comments = readonly (readonly [number, number])[]

/** Removes a line, but leaves a comment at its end. */
function withoutLine(text: string, range: readonly [number, number], comments: Comments): string {
  const { start, end, next } = lineAt(text, range)
  const comment = comments.find(([from]) => from >= range[1] && from < end)
  if (comment !== undefined) return text.slice(0, range[0]) + text.slice(comment[0])
  if (next > end || start === 0) return text.slice(0, start) + text.slice(next)
  // The last line has no line ending, so the new last line gets none.
  const before = text[start - 2] === '\r' ? start - 2 : start - 1
  return text.slice(0, Math.max(before, 0))
}

/** Removes a key of an inline table with its comma. */
function withoutMember(text: string, node: AST.TOMLKeyValue, comments: Comments): string {
  const { body, range } = node.parent as AST.TOMLInlineTable
  const index = body.indexOf(node)
  const [from, to] =
    body.length === 1
      ? [range[0] + 1, range[1] - 1]
      : index === 0
        ? [node.range[0], body[1]?.range[0] ?? node.range[1]]
        : [body[index - 1]?.range[1] ?? node.range[0], node.range[1]]
  const isLosing = comments.some(([at]) => at >= from && at < to && (at < node.range[0] || at >= node.range[1]))
  if (!isLosing) return text.slice(0, from) + text.slice(to)
  // A comment lies between the keys: only the key and the comma after it are removed.
  const comma = /^[ \t\r\n]*,/.exec(text.slice(node.range[1]))?.[0].length ?? 0
  return text.slice(0, node.range[0]) + text.slice(node.range[1] + comma)
}
