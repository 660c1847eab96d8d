import type { HirFunction, HirNamedField, HirSpan, HirTypeDeclaration } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { Decorator, Field, FunctionDeclaration, HttpRoute, TypeDeclaration } from '../syntax/ast.ts'
import { WITHOUT_BODY } from '../syntax/decorators.ts'
import type { Span } from '../syntax/node.ts'
import { roleTexts } from '../syntax/role-texts.ts'
import { DecoratorValues } from './decorator-values.ts'
import { lowerType } from './lower-types.ts'

const METHODS = { get: 'Get', post: 'Post', put: 'Put', delete: 'Delete' } as const

/** Flags of a function, from its decorators and the words before it. */
type FunctionFlags = Pick<
  HirFunction,
  | 'is_component'
  | 'is_async'
  | 'is_pub'
  | 'is_mobile_native'
  | 'is_pure'
  | 'is_llm'
  | 'llm_model'
  | 'is_deprecated'
  | 'schedule_interval'
>

export function functionFlags(fn: FunctionDeclaration): FunctionFlags {
  const decorators = new DecoratorValues(fn.decorators)
  return {
    is_component: fn.role === 'component',
    is_async: fn.isAsync,
    is_pub: fn.isPublic,
    is_mobile_native: decorators.has('native'),
    is_pure: decorators.has('pure'),
    is_llm: fn.decorators.some(decorator => WITHOUT_BODY.has(decorator.name.text)),
    ...defined({ llm_model: decorators.text('ai', 'model') }),
    is_deprecated: decorators.has('deprecated'),
    ...defined({ schedule_interval: decorators.text('scheduled', 'every') })
  }
}

/** Flags of the function `main` of a script. */
export const SCRIPT_FLAGS: FunctionFlags = {
  is_component: false,
  is_async: false,
  is_pub: false,
  is_mobile_native: false,
  is_pure: false,
  is_llm: false,
  is_deprecated: false
}

export function typeDeclaration(
  { name, generics, definition, isPublic: is_pub, ...node }: TypeDeclaration,
  spanOf: (span: Span) => HirSpan
): HirTypeDeclaration {
  const variants = definition.form === 'variants' ? definition.variants : []
  return {
    name: name.text,
    variants: variants.map(variant => ({
      name: variant.name.text,
      fields: variant.fields.map(fieldOf),
      span: spanOf(variant)
    })),
    ...(definition.form === 'struct' ? { fields: definition.fields.map(fieldOf) } : {}),
    ...(definition.form === 'alias' ? { alias: lowerType(definition.type) } : {}),
    ...(generics.length > 0 ? { generics: generics.map(({ text }) => text) } : {}),
    is_pub,
    span: spanOf(node)
  }
}

function fieldOf({ name, type }: Field): HirNamedField {
  return [name.text, lowerType(type)]
}

export function routeHeader(route: HttpRoute) {
  const path = route.path.value
  return { method: METHODS[route.method], path, route_contract: `${route.method.toUpperCase()} ${path}` }
}

/** Paths of the functions that clients call, by role. */
export const ENDPOINT_PATHS = { query: '/api/query/', mutation: '/api/mutation/', server: '/api/' } as const

/** Texts of the decorator that gives a function its role. */
export function textsOf({ roleDecorator }: FunctionDeclaration): string[] {
  return roleDecorator === null ? [] : roleTexts(roleDecorator).map(({ value }) => value)
}

/** True if a declaration has `@deprecated`. */
export function isDeprecated(decorators: readonly Decorator[]): boolean {
  return decorators.some(({ name }) => name.text === 'deprecated')
}
