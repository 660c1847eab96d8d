import { parseSecretReference } from '@svc/plugin-sdk'
import { isTable, type Path, UNSET, valueAt } from './layers.ts'
import { isSecretAt, MASK } from './schema.ts'
import type { DeclaredSection } from './section.ts'
import { keyText, LEADING_KEY, maskValues, type TomlEntry, tomlEntries, tryToml } from './toml.ts'

/** Secret that a file contains itself, instead of a reference to it. */
export interface LiteralSecret {
  readonly key: string
  /** From 1. */
  readonly line: number
}

export interface MaskedText {
  readonly text: string
  /** Places of the masks, in order. Empty if the text contains no secret. */
  readonly secrets: readonly LiteralSecret[]
}

/** Names of secrets in tables that no schema declares, such as those of a plugin that is not installed. */
const SECRET_NAME = /token|secret|passw|credential|private|api_?key/i

/**
 * Masks the literal secrets of a TOML file. In a text that is not valid TOML, all values are masked if a key has the name
 * of a secret: where the value ends is unknown.
 */
export function maskSecrets(text: string, sections: readonly DeclaredSection[]): MaskedText {
  const literals = findLiterals(text, sections)
  if (literals === null) return maskInvalid(text, sections)
  let masked = ''
  let end = 0
  const secrets: LiteralSecret[] = []
  for (const { range, ...secret } of literals) {
    masked += `${text.slice(end, range[0])}"${MASK}"`
    end = range[1]
    secrets.push(secret)
  }
  return { text: masked + text.slice(end), secrets }
}

/** True if a value contains text that is not a reference to a secret. An empty text is no secret. */
export function isLiteral(value: unknown): boolean {
  if (typeof value === 'string') return value !== '' && value !== UNSET && parseSecretReference(value) === null
  if (typeof value === 'number') return true
  const inner = Array.isArray(value) ? value : isTable(value) ? Object.values(value) : []
  return inner.some(isLiteral)
}

interface Found extends LiteralSecret {
  readonly range: readonly [number, number]
}

/** Returns null if one of the two parsers does not accept the text. */
function findLiterals(text: string, sections: readonly DeclaredSection[]): Found[] | null {
  const table = tryToml(text)
  const entries = entriesOf(text)
  if (table === undefined || entries === null) return null
  const found: Found[] = []
  for (const { path, node } of entries) {
    if (node.type !== 'TOMLKeyValue' || !isSecretKey(path, sections) || !isLiteral(valueAt(table, path))) continue
    const { range } = node.value
    const isInside = found.some(({ range: [from, to] }) => range[0] >= from && range[1] <= to)
    const isWhole = node.value.type !== 'TOMLInlineTable' && !holdsTables(valueAt(table, path))
    if (!isInside && isWhole) found.push({ key: keyText(path), line: node.loc.start.line, range: [range[0], range[1]] })
  }
  return found
}

function entriesOf(text: string): readonly TomlEntry[] | null {
  // The parser with positions does not accept an empty text.
  if (text.trim() === '') return []
  try {
    return tomlEntries(text)
  } catch {
    return null
  }
}

/** True for a list with tables: their keys are checked one by one. */
function holdsTables(value: unknown): boolean {
  return Array.isArray(value) && value.some(isTable)
}

function isSecretKey(path: Path, sections: readonly DeclaredSection[]): boolean {
  const owners = sections.flatMap(section => {
    const base = section.tables.find(each => isWithin(path, each))
    if (base === undefined || section.accepts?.(path[base.length] ?? '', base) === false) return []
    return [{ section, rest: path.slice(base.length) }]
  })
  if (owners.length === 0) return path.some(key => SECRET_NAME.test(key))
  return owners.some(({ section, rest }) => isSecretAt(section.schema, rest))
}

function isWithin(path: Path, table: Path): boolean {
  return path.length > table.length && table.every((key, index) => path[index] === key)
}

function maskInvalid(text: string, sections: readonly DeclaredSection[]): MaskedText {
  const names = new Set(
    sections.flatMap(({ declared }) => declared.flatMap(({ secret, path }) => (secret ? [path.at(-1) ?? ''] : [])))
  )
  const lines = text.split('\n')
  const secrets = lines.flatMap((line, index) => {
    const words = line.match(/[\w-]+/g) ?? []
    const isSecret = words.some(word => names.has(word) || SECRET_NAME.test(word))
    // Another word of the line may be a part of the secret.
    return isSecret ? [{ key: LEADING_KEY.exec(line)?.[1] ?? 'a value', line: index + 1 }] : []
  })
  return { text: secrets.length === 0 ? text : lines.map(maskValues).join('\n'), secrets }
}
