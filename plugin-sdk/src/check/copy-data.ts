/** Maximum nesting depth. Deeper values are mistakes or contain themselves. */
const MAX_DEPTH = 64
/** Maximum number of values in one item, so that a copy takes a few milliseconds at most. */
const MAX_VALUES = 20_000

/**
 * Copies data as JSON has it: objects, arrays, strings, finite numbers, booleans and null. Leaves out fields that are
 * undefined. Unlike {@link copyPlain}, it shares nothing with the original.
 *
 * Throws a `TypeError` that names the path of anything else, or a `RangeError` if the value is nested deeper than 64
 * levels or has more than 20,000 values.
 */
export function copyData(value: unknown): unknown {
  let values = 0
  const copy = (given: unknown, path: string, depth: number): unknown => {
    values += 1
    if (values > MAX_VALUES) throw new RangeError(`it has more than ${MAX_VALUES} values`)
    if (given === null || typeof given === 'string' || typeof given === 'boolean') return given
    if (typeof given === 'number' && Number.isFinite(given)) return given
    const kind = kindOf(given)
    if (kind === undefined) throw new TypeError(`${path === '' ? 'it' : path.replace(/^\./, '')} is ${nameOf(given)}`)
    if (depth === MAX_DEPTH) throw new RangeError(`it is nested deeper than ${MAX_DEPTH} levels, or contains itself`)
    if (kind === 'array')
      return Array.from(given as unknown[], (each, index) => copy(each, `${path}[${index}]`, depth + 1))
    const fields: Record<string, unknown> = {}
    for (const [key, field] of Object.entries(given as object)) {
      if (field === undefined) continue
      const own = copy(field, `${path}.${key}`, depth + 1)
      Object.defineProperty(fields, key, { value: own, enumerable: true, writable: true, configurable: true })
    }
    return fields
  }
  return copy(value, '', 0)
}

function kindOf(value: unknown): 'array' | 'object' | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return 'array'
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null ? 'object' : undefined
}

/** Names a value that is not data. */
function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'number' || value === undefined ? String(value) : `a ${typeof value}`
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'not a plain object'
}
