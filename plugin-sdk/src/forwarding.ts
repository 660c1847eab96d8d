/**
 * Returns an object that forwards each access to the current result of `current`. Its functions, and those of the
 * members in `nested`, are looked up on each call. So code that holds the object, or one of its functions, always uses
 * the current value. Access throws the errors of `current`.
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
