import { pathParameters } from '@svc/contracts'
import type {
  Component,
  Declaration,
  Decorator,
  FunctionDeclaration,
  HttpRoute,
  Module,
  ScriptStatement
} from '../syntax/ast.ts'
import { type ModuleNames, moduleNames } from '../types/module-names.ts'
import type { BodyRule } from './body-rule.ts'
import { ExpressionWalker } from './expression-walker.ts'
import type { LocalName } from './scopes.ts'

/** Decorators whose arguments may use the parameters of the function. */
const CONDITIONS: ReadonlySet<string> = new Set(['require', 'ensure', 'invariant'])

/** Roles of functions that are called from outside, in which `request` is the request. */
const EXPOSED: ReadonlySet<string> = new Set(['query', 'mutation', 'server', 'mcp.tool', 'mcp.resource'])

/** Walks all bodies of a module once, with the names in scope, and calls the rules for each node. */
export function walkBodies(module: Module, rules: readonly BodyRule[]): ModuleNames {
  const names = moduleNames(module)
  for (const item of module.items) {
    if (item.kind !== 'ScriptStatement') new BodyWalker(names, rules, item).declaration()
  }
  const statements = module.items.filter(item => item.kind === 'ScriptStatement')
  const [first] = statements
  if (first !== undefined) new BodyWalker(names, rules, first).script(statements)
  return names
}

class BodyWalker extends ExpressionWalker {
  /** Walks top-level statements in one scope: they can use each other's variables. */
  script(statements: readonly ScriptStatement[]): void {
    for (const { statement } of statements) this.statement(statement)
  }

  declaration(): void {
    const { item } = this
    switch (item.kind) {
      case 'Function':
        this.#function(item)
        return
      case 'HttpRoute':
        this.#route(item)
        return
      case 'Workflow':
        this.params(item.params)
        this.expression(item.body)
        return
      case 'Activity':
        this.params(item.params)
        if (item.options !== null) this.options(item.options, null)
        this.expression(item.body)
        return
      case 'Actor':
      case 'Agent':
        this.#stateful(item)
        return
      case 'Component':
        this.#component(item)
        return
      case 'Fragment':
        this.params(item.params)
        this.expression(item.body)
        return
      case 'Const':
        if (item.statement.kind === 'Let') this.expression(item.statement.value)
        return
      case 'Type':
        if (item.definition.form === 'struct') for (const field of item.definition.fields) this.optional(field.value)
        return
      case 'Table':
        for (const field of item.fields) this.optional(field.value)
    }
  }

  #function({ role, decorators, params, body }: FunctionDeclaration): void {
    if (EXPOSED.has(role) && !this.names.has('request')) this.bind(implicit('request'))
    this.params(params)
    this.#conditions(decorators)
    if (body !== null) this.expression(body)
  }

  #conditions(decorators: readonly Decorator[]): void {
    for (const { name, args } of decorators) {
      if (!CONDITIONS.has(name.text)) continue
      this.scopes.within(() => {
        if (name.text !== 'require') this.bind(implicit('result'))
        for (const { value } of args ?? []) this.expression(value)
      })
    }
  }

  /** Walks a route, with `request` and the path parameters in scope. */
  #route({ path, params, body }: HttpRoute): void {
    this.bind(implicit('request'))
    for (const name of pathParameters(path.value)) this.bind(implicit(name))
    this.params(params ?? [])
    this.expression(body)
  }

  #stateful(item: Extract<Declaration, { kind: 'Actor' | 'Agent' }>): void {
    if (item.kind === 'Actor') this.params(item.params ?? [])
    for (const member of item.members) {
      if (member.kind !== 'StateField') continue
      this.optional(member.value)
      const isMutable = member.form !== 'let' || member.isMutable
      this.bind({ kind: 'state', name: member.name, isMutable, canBeMutable: !isMutable })
    }
    for (const member of item.members) {
      if (member.kind === 'Migration') this.expression(member.body)
      if (member.kind !== 'Handler') continue
      this.scopes.within(() => {
        this.params(member.params)
        this.expression(member.body)
      })
    }
  }

  #component({ params, members }: Component): void {
    this.params(params)
    for (const member of members) {
      const isState = member.kind === 'State'
      if (!isState && member.kind !== 'Derived') continue
      this.bind({ kind: 'state', name: member.name, isMutable: isState, canBeMutable: false })
    }
    for (const member of members) {
      switch (member.kind) {
        case 'State':
        case 'Derived':
          this.expression(member.value)
          break
        case 'Effect':
        case 'Lifecycle':
          this.expression(member.body)
          break
        case 'View':
          this.expression(member.root)
          break
        default:
          this.statement(member)
      }
    }
  }
}

/** Returns a name that the compiler declares implicitly. */
function implicit(text: string): LocalName {
  return { kind: 'implicit', name: { text, start: 0, end: 0 }, isMutable: false, canBeMutable: false }
}
