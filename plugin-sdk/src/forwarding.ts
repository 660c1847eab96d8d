/**
 * Returns an object that forwards every use to the current value of `current`. Functions, and those of members in
 * `nested`, are looked up at each call. So holders of it, or of its functions, notice no replacement. Use throws the
 * errors of `current`.
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
