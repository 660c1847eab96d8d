/** `T` with keys that may be undefined made optional, for `exactOptionalPropertyTypes`. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
} extends infer R
  ? { [K in keyof R]: R[K] }
  : never

/** Returns a copy without undefined values. Too slow for code that runs for each token or request. */
export function defined<T extends object>(value: T): Defined<T> {
  const copy: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) if (each !== undefined) copy[key] = each
  return copy as Defined<T>
}
