/**
 * An object whose every use is one of what `current` returns then: functions are looked up when they are called, and so are those
 * of the members named in `nested`. Whoever holds it, or takes functions out of it, notices no replacement.
 */
export function forwarding<A extends object>(current: () => A, nested: readonly (keyof A & string)[] = []): A {
  const made = new Map<PropertyKey, unknown>()
  return new Proxy({} as A, {
    get(_, key) {
      const found = made.get(key)
      if (found !== undefined) return found
      const value: unknown = Reflect.get(current(), key)
      const made_ = forwarded(current, nested, key as keyof A & string, value)
      if (made_ !== value) made.set(key, made_)
      return made_
    },
    has: (_, key) => Reflect.has(current(), key)
  })
}

function forwarded<A extends object>(
  current: () => A,
  nested: readonly (keyof A & string)[],
  key: keyof A & string,
  value: unknown
): unknown {
  if (nested.includes(key)) return forwarding(() => current()[key] as object)
  if (typeof value !== 'function') return value
  return (...given: unknown[]) => (current()[key] as (...given: unknown[]) => unknown)(...given)
}
