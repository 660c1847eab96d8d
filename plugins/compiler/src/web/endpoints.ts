import {
  answerType,
  type HirEndpoint,
  type HirModule,
  type HirParam,
  type HirType,
  isRequiredParam
} from '@svc/contracts'
import { propertyKey, valueName } from '../typescript/names.ts'
import type { TypeImports } from '../typescript/types.ts'
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
export function responseTypeOf(
  { return_type }: Pick<HirEndpoint, 'return_type'>,
  { hir }: Pick<WebModule, 'hir'>
): HirType | null {
  return answerType(return_type, hir)
}

/** True if a caller may omit a parameter. */
export function isOptional(param: HirParam): boolean {
  return !isRequiredParam(param)
}

/**
 * Returns a parameter list such as `title: string, done?: boolean`. A parameter before a required one cannot be
 * optional. `typeOf` prints the type of a parameter.
 */
export function parameterList(
  web: WebModule,
  params: readonly HirParam[],
  imports: TypeImports,
  typeOf = ({ type_ann }: HirParam): string => web.types.print(type_ann, imports)
): string {
  const lastRequired = params.findLastIndex(param => !isOptional(param))
  return params
    .map((param, index) => {
      const type = typeOf(param)
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

/** Returns how many files a parameter takes; null for other types than the builtin `File`. */
export function fileUse({ types }: Pick<HirModule, 'types'>, type: HirType | null): 'one' | 'many' | null {
  if (type === null || typeof type === 'string') return null
  const isFile = (each: HirType | undefined): boolean =>
    typeof each === 'object' &&
    'Named' in each &&
    each.Named === 'File' &&
    types.some(({ name, is_builtin }) => name === 'File' && is_builtin === true)
  if (isFile(type)) return 'one'
  if (!('Generic' in type) || !isFile(type.Generic[1][0])) return null
  if (type.Generic[0] === 'Option') return 'one'
  return type.Generic[0] === 'List' || type.Generic[0] === 'list' ? 'many' : null
}

/**
 * Returns the type of an argument that a client sends: an int may be a bigint, which has more digits, and a file is its
 * content, or one that is stored already.
 */
export function inputType(web: WebModule, { type_ann }: HirParam, imports: TypeImports): string {
  const type = web.types.print(type_ann, imports)
  const file = fileUse(web.hir, type_ann)
  if (file !== null) return `${file === 'many' ? 'readonly Blob[]' : 'Blob'} | ${type}`
  return isInt(type_ann) ? type.replace('number', 'number | bigint') : type
}

/** Returns the type of an object with the arguments by name. */
export function argumentsType(web: WebModule, params: readonly HirParam[], imports: TypeImports): string {
  const members = params.map(param => {
    const type = inputType(web, param, imports)
    const mark = isOptional(param) ? '?' : ''
    return `readonly ${propertyKey(param.name)}${mark}: ${type}${isOptional(param) && type !== 'any' ? ' | undefined' : ''}`
  })
  return `{ ${members.join('; ')} }`
}

/** True for ints and ids, also optional ones. */
export function isInt(type: HirType | null): boolean {
  if (type === null || typeof type === 'string') return false
  if ('Named' in type) return type.Named === 'int'
  if (!('Generic' in type)) return false
  const [name, [item = null]] = type.Generic
  return name === 'Id' || (name === 'Option' && isInt(item))
}
