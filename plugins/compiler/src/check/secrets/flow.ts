import type { Declaration } from '../../syntax/ast.ts'

/** Possible origin of a value: a secret, or a parameter of its function. */
export type Origin = typeof SECRET | number

export const SECRET = 'secret'

export type Origins = ReadonlySet<Origin>

export const NOWHERE: Origins = new Set()

export function union(parts: readonly Origins[]): Origins {
  const some = parts.filter(({ size }) => size > 0)
  if (some.length < 2) return some[0] ?? NOWHERE
  return new Set(some.flatMap(part => [...part]))
}

/** Summary of a function for its callers. */
export interface Flow {
  /** Possible origins of its result. */
  result: Origins
  /** Parameters that reach a model. */
  readonly leaked: Set<number>
}

/** Summaries computed so far, by declaration. */
export type Flows = ReadonlyMap<Declaration, Flow>
