import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'smol-toml'

const MAX_YAML_CHARS = 1024 * 1024

/** Reads a file; null if it cannot be read. */
export async function text(root: string, ...path: string[]): Promise<string | null> {
  return readFile(join(root, ...path), 'utf8').catch(() => null)
}

/** Parses TOML; an empty object if it is invalid. */
export function toml(source: string | null): Record<string, unknown> {
  try {
    return source === null ? {} : parse(source)
  } catch {
    return {}
  }
}

/** Parses YAML; an empty object if it is invalid or too large. The parser is loaded only if needed. */
export async function yaml(source: string | null): Promise<Record<string, unknown>> {
  if (source === null || source.length > MAX_YAML_CHARS) return {}
  const [{ parse }, { yamlExcess }] = await Promise.all([import('yaml'), import('@svc/contracts/front-matter')])
  try {
    if (yamlExcess(source) !== null) return {}
    return record(parse(source, { logLevel: 'error' }))
  } catch {
    return {}
  }
}

/** Parses JSON; an empty object if it is invalid or not an object. */
export function json(source: string | null): Record<string, unknown> {
  try {
    return source === null ? {} : record(JSON.parse(source))
  } catch {
    return {}
  }
}

/** Returns `value` if it is a plain object; otherwise an empty one. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/** Returns the table under a key; an empty one if there is none. */
export function tableIn(table: Record<string, unknown>, key: string): Record<string, unknown> {
  return record(table[key])
}

/** Returns the values that are strings. */
export function strings(values: readonly unknown[]): string[] {
  return values.filter(value => typeof value === 'string')
}

/** Returns the strings of the array under a key. */
export function stringsIn(table: Record<string, unknown>, key: string): string[] {
  const values = table[key]
  return Array.isArray(values) ? strings(values) : []
}
