import type { JsonSchema } from '@svc/plugin-sdk'
import { isTable } from './layers.ts'

const TRUTHY = new Set(['1', 'true', 'yes', 'y', 'on'])
const FALSY = new Set(['0', 'false', 'no', 'n', 'off'])

/**
 * Parses the value of an environment variable as the type of its setting. Returns undefined if it does not parse.
 *
 * Booleans follow `x-env-type`: `strict` accepts only `true` and `false`. `truthy` (the default) also accepts
 * 1/yes/y/on and 0/no/n/off in any case. Lists are JSON or comma-separated; tables are JSON or comma-separated
 * `key=value`. Ranges and patterns are not checked here.
 */
export function fromText(text: string, schema: JsonSchema): unknown {
  const branches = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined
  if (branches !== undefined) {
    const dialect = { 'x-env-type': schema['x-env-type'] }
    return firstOf(branches.map(branch => fromText(text, { ...dialect, ...branch })))
  }
  if (Array.isArray(schema.type)) return firstOf(schema.type.map(type => fromText(text, { ...schema, type })))
  if (Array.isArray(schema.enum)) {
    const folded = text.toLowerCase()
    return (
      schema.enum.find(value => String(value) === text) ??
      schema.enum.find(value => String(value).toLowerCase() === folded)
    )
  }
  switch (schema.type) {
    case 'boolean':
      return toBoolean(text, schema['x-env-type'] === 'strict')
    case 'integer':
      return /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'number':
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? finite(Number(text)) : undefined
    case 'array':
      return toList(text, isTable(schema.items) ? schema.items : {})
    case 'object':
      return toTable(text, isTable(schema.additionalProperties) ? schema.additionalProperties : {})
    case 'null':
      return undefined
    default:
      return text
  }
}

function firstOf(values: readonly unknown[]): unknown {
  return values.find(value => value !== undefined)
}

function toBoolean(text: string, strict: boolean): boolean | undefined {
  if (strict) return text === 'true' ? true : text === 'false' ? false : undefined
  const folded = text.toLowerCase()
  return TRUTHY.has(folded) ? true : FALSY.has(folded) ? false : undefined
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined
}

function toList(text: string, items: JsonSchema): readonly unknown[] | undefined {
  if (text.startsWith('[')) return json(text, Array.isArray)
  const values = text.split(',').map(item => item.trim())
  return allOf(values.filter(item => item !== '').map(item => fromText(item, items)))
}

function toTable(text: string, values: JsonSchema): object | undefined {
  if (text.startsWith('{')) return json(text, isTable)
  const pairs = text.split(',').map(pair => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair))
  const entries = allOf(
    pairs.map(pair => {
      const value = pair?.[2] === undefined ? undefined : fromText(pair[2], values)
      return value === undefined ? undefined : ([pair?.[1] ?? '', value] as const)
    })
  )
  return entries && Object.fromEntries(entries)
}

function allOf<A>(values: readonly (A | undefined)[]): readonly A[] | undefined {
  return values.includes(undefined) ? undefined : (values as readonly A[])
}

function json<A>(text: string, accept: (value: unknown) => value is A): A | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return accept(value) ? value : undefined
  } catch {
    return undefined
  }
}
