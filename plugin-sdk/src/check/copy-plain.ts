/** Maximum nesting depth. Deeper values are mistakes or contain themselves. */
const MAX_DEPTH = 256

/**
 * Copies arrays and plain objects, which validation may change. Other values, such as buffers, are shared with the
 * original. Throws if the value is nested too deeply.
 */
export function copyPlain(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) throw new RangeError(`the value is nested deeper than ${MAX_DEPTH} levels, or contains itself`)
  if (Array.isArray(value)) {
    const copy = new Array<unknown>(value.length)
    for (let index = 0; index < value.length; index++) copy[index] = copyPlain(value[index], depth + 1)
    return copy
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const item = copyPlain((value as Record<string, unknown>)[key], depth + 1)
    if (key === '__proto__')
      Object.defineProperty(copy, key, { value: item, enumerable: true, writable: true, configurable: true })
    else copy[key] = item
  }
  return copy
}
