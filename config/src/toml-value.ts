import { isTable } from './layers.ts'

/** Key of a TOML document: bare if it may be, otherwise quoted. */
export function tomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : tomlString(key)
}

/**
 * Returns a value as TOML on one line; tables are inline. Returns undefined for a value that TOML cannot represent: null,
 * undefined, a function.
 */
export function tomlValue(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return tomlString(value)
    case 'boolean':
      return String(value)
    case 'number':
      return tomlNumber(value)
  }
  if (Array.isArray(value)) {
    const items = value.map(tomlValue)
    return items.includes(undefined) ? undefined : `[${items.join(', ')}]`
  }
  if (!isTable(value)) return undefined
  const entries = Object.entries(value).map(([key, item]) => [tomlKey(key), tomlValue(item)] as const)
  if (entries.some(([, item]) => item === undefined)) return undefined
  return entries.length === 0 ? '{}' : `{ ${entries.map(([key, item]) => `${key} = ${item}`).join(', ')} }`
}

/** Basic string. TOML also requires DEL to be escaped, which JSON does not. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f')
}

function tomlNumber(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  // An integer of TOML has 64 bits, and its reader accepts only safe ones. A larger number is a float.
  const text = String(value)
  return Number.isInteger(value) && !Number.isSafeInteger(value) && !text.includes('e') ? `${text}.0` : text
}
