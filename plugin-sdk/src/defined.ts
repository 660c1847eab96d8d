/** `T` without the keys that hold undefined: an optional key under `exactOptionalPropertyTypes` is absent, or has a value. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
} extends infer R
  ? { [K in keyof R]: R[K] }
  : never

/** Returns a copy without the keys that hold undefined. Not for code that runs per token or per request head. */
export function defined<T extends object>(value: T): Defined<T> {
  const copy: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) if (each !== undefined) copy[key] = each
  return copy as Defined<T>
}
