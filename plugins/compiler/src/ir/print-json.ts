/** Characters that a line may have before what stands on it is broken into several. */
const WIDTH = 120

/**
 * A value as JSON that people can read: what fits on a line stands on one. Ints beyond 2^53 are bigints and are printed
 * with all of their digits. Keys without a value are left out.
 */
export function printJson(value: unknown): string {
  return print(value, 0, 0)
}

/** `before` is what stands on the line already. */
function print(value: unknown, depth: number, before: number): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return Array.isArray(value) ? printArray(value, depth, before) : printObject(value, depth, before)
}

function printArray(items: readonly unknown[], depth: number, before: number): string {
  const parts = items.map(item => print(item, depth + 1, 2 * (depth + 1)))
  return join('[', parts, ']', depth, before)
}

function printObject(value: object, depth: number, before: number): string {
  const parts: string[] = []
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    const name = `${JSON.stringify(key)}: `
    parts.push(name + print(inner, depth + 1, 2 * (depth + 1) + name.length))
  }
  return join('{', parts, '}', depth, before)
}

function join(open: string, parts: readonly string[], close: string, depth: number, before: number): string {
  if (parts.length === 0) return open + close
  if (fits(parts, before)) return `${open}${parts.join(', ')}${close}`
  const indent = '  '.repeat(depth + 1)
  return `${open}\n${indent}${parts.join(`,\n${indent}`)}\n${'  '.repeat(depth)}${close}`
}

function fits(parts: readonly string[], before: number): boolean {
  let width = before + 2 * parts.length
  for (const part of parts) {
    width += part.length
    if (width > WIDTH || part.includes('\n')) return false
  }
  return true
}
