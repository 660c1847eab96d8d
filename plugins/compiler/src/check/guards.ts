import type { GuardedKind } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import { type GuardTarget, guardTarget } from '../hir/guards.ts'
import type { Declaration, Decorator, Module } from '../syntax/ast.ts'
import type { RouteEntry } from '../syntax/ast-web.ts'
import { GUARD_DECORATORS, type Guard, guardOf } from '../syntax/guard-decorators.ts'
import type { Span } from '../syntax/node.ts'
import { onSignUpOf } from '../syntax/on-sign-up.ts'
import type { AnyNode } from '../syntax/walk.ts'
import type { NodeRule } from './node-rule.ts'

const ENDPOINTS: readonly GuardedKind[] = ['query', 'mutation', 'server', 'route']
const ALL: readonly GuardedKind[] = [...ENDPOINTS, 'tool', 'resource', 'page']

/** Kinds of declarations that each decorator can guard. */
const TARGETS: Readonly<Record<string, readonly GuardedKind[]>> = {
  auth: ALL,
  role: ALL,
  public: ALL,
  rate_limit: [...ENDPOINTS, 'tool', 'resource'],
  cors: ENDPOINTS,
  webhook: ['mutation', 'server', 'route']
}

const SHOWN: Readonly<Record<GuardedKind, string>> = {
  query: 'queries',
  mutation: 'mutations',
  server: 'server functions',
  route: '`http` routes',
  tool: 'tools',
  resource: 'resources',
  page: 'pages'
}

/** Reports guard decorators on declarations that they cannot guard. */
export class GuardTargetsRule implements NodeRule {
  readonly kinds = ['Decorator']
  readonly found: Diagnostic[] = []
  readonly #pages: ReadonlySet<string>

  constructor(module: Module) {
    this.#pages = pagesOf(module)
  }

  node(node: AnyNode, item: Declaration): void {
    if (node.kind !== 'Decorator') return
    const decorator = node as Decorator
    const { text } = decorator.name
    if (!GUARD_DECORATORS.has(text) || this.#isAllowed(decorator, item)) return
    const kinds = (TARGETS[text] ?? []).map(kind => SHOWN[kind])
    const message = `\`@${text}\` cannot guard this declaration; requests would pass without it`
    const suggestions = [`\`@${text}\` guards ${kinds.slice(0, -1).join(', ')} and ${kinds.at(-1)}`]
    this.found.push(diagnostic('auth.target', message, spanOf(decorator), { suggestions }))
  }

  #isAllowed(decorator: Decorator, item: Declaration): boolean {
    const { text } = decorator.name
    if (!('decorators' in item) || !item.decorators.includes(decorator)) return false
    // On a table, `@auth` declares the users of the program.
    if (item.kind === 'Table') return text === 'auth'
    const target = guardTarget(item)
    if (target === null || TARGETS[text]?.includes(target.kind) !== true) return false
    return target.kind !== 'page' || this.#pages.has(target.name)
  }
}

/** Returns the names of the components that are pages. */
function pagesOf({ items }: Module): ReadonlySet<string> {
  const entries = items.flatMap(item => (item.kind === 'Routes' ? item.entries : []))
  return new Set(entries.flatMap(entry => (entry.kind === 'RouteEntry' ? componentsOf(entry) : [])))
}

function componentsOf({ component, children }: RouteEntry): string[] {
  return [component.text, ...children.flatMap(componentsOf)]
}

/** Checks the arguments of guard decorators, and reports endpoints without one in a program with guards. */
export function checkGuards(module: Module): Diagnostic[] {
  // Only sign-ups call that function.
  const onSignUp = onSignUpOf(module)
  const guarded = module.items.map(item => {
    const target = item === onSignUp ? null : guardTarget(item)
    return { item, target, guard: 'decorators' in item ? guardOf(item.decorators) : null }
  })
  return [
    ...guarded.flatMap(({ item, target, guard }) => (guard === null ? [] : problems(item, target, guard))),
    ...unmarked(guarded)
  ]
}

function problems(item: Declaration, target: GuardTarget | null, guard: Guard): Diagnostic[] {
  if (target === null) return []
  const found = guard.problems.map(({ message, span, suggestions }) =>
    diagnostic('auth.argument', message, span, { suggestions })
  )
  const decorators: readonly Decorator[] = 'decorators' in item ? item.decorators : []
  const limit = guard.limits.find(({ by }) => by === 'user' || by === 'api_key')
  const at = decorators.find(({ name }) => name.text === 'rate_limit')
  if (limit !== undefined && at !== undefined && guard.auth === null) {
    const message = `\`@rate_limit\` counts by ${limit.by}, but \`@auth\` is missing`
    const suggestions = ['add `@auth`, or limit `by: ip`']
    found.push(diagnostic('rate_limit.needs_auth', message, spanOf(at), { suggestions }))
  }
  const auth = decorators.find(({ name }) => name.text === 'auth')
  if (auth !== undefined && target.kind !== 'page' && guard.auth?.redirect != null) {
    const suggestions = ['write `redirect` at the component of the page']
    found.push(diagnostic('auth.argument', '`redirect` is only for pages', spanOf(auth), { suggestions }))
  }
  return found
}

interface Guarded {
  readonly item: Declaration
  readonly target: GuardTarget | null
  readonly guard: Guard | null
}

/** Reports endpoints without `@auth` and `@public` in a module that uses `@auth`: one may have been forgotten. */
function unmarked(all: readonly Guarded[]): Diagnostic[] {
  if (!all.some(({ item, target, guard }) => (target ?? usersOf(item)) !== null && guard?.auth != null)) return []
  return all.flatMap(({ item, target, guard }) => {
    if (target === null || !ENDPOINTS.includes(target.kind)) return []
    if (guard !== null && (guard.auth !== null || guard.isPublic || guard.webhook !== null)) return []
    const at = item.kind === 'HttpRoute' ? item.path : 'name' in item && item.name !== null ? item.name : item
    const message = `\`${target.name}\` has neither \`@auth\` nor \`@public\`, so everyone may call it`
    const suggestions = ['add `@auth`, or `@public` if that is intended']
    return diagnostic('vox/auth/endpoint-missing-decorator', message, at, { suggestions })
  })
}

/** Returns the table of the users of a program; null for other declarations. */
function usersOf(item: Declaration): Declaration | null {
  return item.kind === 'Table' ? item : null
}

/** Returns the span of a decorator's name with the `@`. */
function spanOf({ name }: Decorator): Span {
  return { start: name.start - 1, end: name.end }
}
