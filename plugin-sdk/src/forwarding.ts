/**
 * An object whose every use is a use of what `current` returns then: functions are looked up when they are called, and so are those
 * of the members named in `nested`. A holder of it, or of a function of it, notices no replacement; for a service that is used by
 * `ref` it spares the look-up. Throws what `current` throws, when it is used.
 */
export function forwarding<A extends object>(current: () => A, nested: readonly (keyof A & string)[] = []): A {
  const made = new Map<PropertyKey, unknown>()
  for (const name of nested) {
    made.set(
      name,
      forwarding(() => current()[name] as object)
    )
  }
  return new Proxy({} as A, {
    get(_, key) {
      const found = made.get(key)
      if (found !== undefined) return found
      const value: unknown = Reflect.get(current(), key)
      if (typeof value !== 'function') return value
      const call = (...given: unknown[]): unknown => (current() as Functions)[key]?.(...given)
      made.set(key, call)
      return call
    },
    has: (_, key) => Reflect.has(current(), key)
  })
}

type Functions = Readonly<Record<PropertyKey, (...given: unknown[]) => unknown>>
