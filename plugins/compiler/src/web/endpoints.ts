import { answerType, isRequiredParam } from '@svc/contracts'
import type { HirEndpoint, HirModule, HirParam, HirType } from '../hir/hir.ts'
import { valueName } from './typescript-names.ts'
import type { TypeImports } from './typescript-types.ts'
import type { WebModule } from './web-module.ts'

export type EndpointKind = 'query' | 'mutation' | 'server'

/** A function that browsers call over HTTP. */
export interface Endpoint extends HirEndpoint {
  readonly kind: EndpointKind
  readonly method: 'GET' | 'POST'
}

/** Returns queries, then mutations, then server functions, each in source order. */
export function endpointsOf({ query_fns, mutation_fns, server_fns }: HirModule): Endpoint[] {
  return [
    ...query_fns.map(fn => ({ ...fn, kind: 'query' as const, method: 'GET' as const })),
    ...mutation_fns.map(fn => ({ ...fn, kind: 'mutation' as const, method: 'POST' as const })),
    ...server_fns.map(fn => ({ ...fn, kind: 'server' as const, method: 'POST' as const }))
  ]
}

/** Returns the type of a successful response: the value type of a `Result`. Its error becomes a status. */
export function responseTypeOf({ return_type }: Pick<HirEndpoint, 'return_type'>): HirType | null {
  return answerType(return_type)
}

/** True if a caller may omit a parameter. */
export function isOptional(param: HirParam): boolean {
  return !isRequiredParam(param)
}

/**
 * Returns a parameter list such as `title: string, done?: boolean`. A parameter before a required one cannot be
 * optional.
 */
export function parameterList({ types }: WebModule, params: readonly HirParam[], imports: TypeImports): string {
  const lastRequired = params.findLastIndex(param => !isOptional(param))
  return params
    .map((param, index) => {
      const type = types.print(param.type_ann, imports)
      const isOpen = isOptional(param)
      if (isOpen && index > lastRequired) return `${valueName(param.name)}?: ${type}`
      return `${valueName(param.name)}: ${type}${isOpen && type !== 'any' ? ' | undefined' : ''}`
    })
    .join(', ')
}

/** Returns an object of parameters, such as `{ title, in: in_ }`. */
export function argumentObject(params: readonly HirParam[]): string {
  if (params.length === 0) return '{}'
  const entries = params.map(({ name }) => (valueName(name) === name ? name : `${name}: ${valueName(name)}`))
  return `{ ${entries.join(', ')} }`
}
