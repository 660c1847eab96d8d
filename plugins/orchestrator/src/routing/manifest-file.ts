import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'smol-toml'

/** Contents of a file; null if it cannot be read. */
export async function text(root: string, ...path: string[]): Promise<string | null> {
  return readFile(join(root, ...path), 'utf8').catch(() => null)
}

/** Contents of a TOML document; nothing if it does not parse. */
export function toml(source: string | null): Record<string, unknown> {
  try {
    return source === null ? {} : parse(source)
  } catch {
    return {}
  }
}

/** Contents of a YAML document; nothing if it does not parse. Its parser is loaded only when needed. */
export async function yaml(source: string | null): Promise<Record<string, unknown>> {
  if (source === null) return {}
  const { parse } = await import('yaml')
  try {
    return record(parse(source, { logLevel: 'error' }))
  } catch {
    return {}
  }
}

/** Members of a JSON object; nothing if it does not parse, or is not an object. */
export function json(source: string | null): Record<string, unknown> {
  try {
    return source === null ? {} : record(JSON.parse(source))
  } catch {
    return {}
  }
}

/** A value as an object with names; an empty one if it is not. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/** Table of a table; an empty one where there is none. */
export function tableIn(table: Record<string, unknown>, key: string): Record<string, unknown> {
  return record(table[key])
}

/** Those values that are texts. */
export function strings(values: readonly unknown[]): string[] {
  return values.filter(value => typeof value === 'string')
}

/** Texts of an array in a table. */
export function stringsIn(table: Record<string, unknown>, key: string): string[] {
  const values = table[key]
  return Array.isArray(values) ? strings(values) : []
}
