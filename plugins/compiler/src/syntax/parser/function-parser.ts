import type {
  Activity,
  Actor,
  Agent,
  Decorator,
  Environment,
  EnvironmentItem,
  ExternFunction,
  FunctionDeclaration,
  FunctionRole,
  Handler,
  HttpRoute,
  StateField,
  Workflow
} from '../ast.ts'
import { WITHOUT_BODY } from '../decorators.ts'
import { roleTexts } from '../role-texts.ts'
import { Kind } from '../token.ts'
import { type Prefix, TypeDeclarationParser } from './type-declaration-parser.ts'

const METHODS = ['get', 'post', 'put', 'delete'] as const

const ROLES: ReadonlySet<string> = new Set<FunctionRole>([
  'query',
  'mutation',
  'server',
  'mcp.tool',
  'mcp.resource',
  'test',
  'forall',
  'fuzz',
  'loading',
  'component',
  'island'
])

/** Number of strings that a role requires. */
const TEXTS: Readonly<Record<string, number>> = { 'mcp.tool': 1, 'mcp.resource': 2 }

/**
 * Parses declarations with statements and without a view: functions, routes, actors, workflows, activities, agents,
 * environments.
 */
export abstract class FunctionParser extends TypeDeclarationParser {
  /** Parses a function; `fn` or `async` is next. */
  protected fn({ start, ...prefix }: Prefix): FunctionDeclaration {
    const isAsync = this.accept(Kind.Async)
    this.expect(Kind.Fn, 'after `async`')
    const name = this.inPanic ? this.noName() : this.expectName('the name of a function')
    const generics = this.inPanic ? [] : this.generics()
    const params = this.inPanic ? [] : this.params()
    const effects = []
    if (!this.inPanic && this.acceptWord('uses')) {
      do effects.push(this.expectName('an effect'))
      while (this.accept(Kind.Comma))
    }
    const result = this.inPanic ? null : this.result()
    const { decorators } = prefix
    const needsBlock = !decorators.some(decorator => WITHOUT_BODY.has(decorator.name.text))
    const body = this.kind === Kind.LeftBrace || (needsBlock && !this.inPanic) ? this.block() : null
    const roleDecorator = this.#roleOf(decorators)
    const role = (roleDecorator?.name.text ?? 'plain') as FunctionRole
    const header = { ...prefix, role, roleDecorator, isAsync, name, generics, params, effects, result }
    return { kind: 'Function', start, end: this.lastEnd, ...header, body }
  }

  #roleOf(decorators: readonly Decorator[]): Decorator | null {
    const [first, second] = decorators.filter(({ name }) => ROLES.has(name.text))
    if (first !== undefined && second !== undefined) {
      this.report('E0001', `a function cannot be both \`@${first.name.text}\` and \`@${second.name.text}\``, second, {
        related: [{ span: first, message: 'the other role' }]
      })
    }
    const texts = first === undefined ? 0 : (TEXTS[first.name.text] ?? 0)
    if (first !== undefined && roleTexts(first).length < texts) {
      this.report(
        'E0001',
        `\`@${first.name.text}\` requires ${texts === 1 ? 'a description' : 'a URI and a description'}`,
        first
      )
    }
    return first ?? null
  }

  /** Parses an external function; `extern` is next. */
  protected externFn({ start, ...prefix }: Prefix): ExternFunction {
    this.advance()
    this.expect(Kind.Fn, 'after `extern`')
    const name = this.inPanic ? this.noName() : this.expectName('the name of a function')
    const params = this.inPanic ? [] : this.params()
    const result = this.inPanic ? null : this.result()
    this.expect(Kind.Equal, 'before the binding of the function')
    const binding = this.expectString('the binding')
    return { kind: 'ExternFunction', start, end: this.lastEnd, ...prefix, name, params, result, binding }
  }

  /** Parses a route; `http` is next. */
  protected httpRoute({ start, ...prefix }: Prefix): HttpRoute {
    this.advance()
    const method = METHODS.find(word => this.atWord(word))
    if (method === undefined)
      this.failExpecting(
        METHODS.map(word => `\`${word}\``),
        'after `http`'
      )
    else this.advance()
    const path = this.expectString('the path of the route')
    const params = this.kind === Kind.LeftParen ? this.params() : null
    const result = this.inPanic ? null : this.result()
    const body = this.block()
    const route = { kind: 'HttpRoute', start, end: this.lastEnd, ...prefix } as const
    return { ...route, method: method ?? 'get', path, params, result, body }
  }

  /** Parses a handler; `on` is next, or a decorator. */
  protected handler(): Handler {
    const { start } = this
    const decorators = this.decorators()
    this.expect(Kind.On, 'before the event of a handler')
    const event = this.inPanic ? this.noName() : this.expectName('the name of an event')
    const params = this.inPanic ? [] : this.params()
    const result = this.inPanic ? null : this.result()
    const body = this.block()
    return { kind: 'Handler', start, end: this.lastEnd, decorators, event, params, result, body }
  }

  protected get atHandler(): boolean {
    return this.kind === Kind.Decorator || (this.kind === Kind.On && this.second !== Kind.Colon)
  }

  protected stateField(): StateField {
    const { start } = this
    const isLet = this.accept(Kind.Let)
    const isMutable = isLet && this.accept(Kind.Mut)
    const isState = !isLet && this.kind === Kind.State && this.second !== Kind.Colon
    if (isState) this.advance()
    const name = this.expectName('a field, `on` or `}`')
    if (!isLet && this.kind !== Kind.Colon) this.failExpecting(['`:`'], 'after the name of a field')
    const type = this.accept(Kind.Colon) ? this.type() : null
    if (isLet && this.kind !== Kind.Equal) this.failExpecting(['`=`'], 'before a value')
    const value = this.accept(Kind.Equal) ? this.expression() : null
    const form = isLet ? 'let' : isState ? 'state' : 'plain'
    return { kind: 'StateField', start, end: this.lastEnd, form, isMutable, name, type, value }
  }

  /** Parses an actor; `actor` is next. */
  protected actor({ start, ...prefix }: Prefix): Actor {
    this.advance()
    const name = this.expectTypeName('an actor')
    const params = this.kind === Kind.LeftParen ? this.params() : null
    const members = this.inPanic
      ? []
      : this.members('the handlers of an actor', () => (this.atHandler ? this.handler() : this.stateField()))
    return { kind: 'Actor', start, end: this.lastEnd, ...prefix, name, params, members }
  }

  /** Parses a workflow; `workflow` is next. */
  protected workflow({ start, ...prefix }: Prefix): Workflow {
    this.advance()
    const name = this.expectName('the name of a workflow')
    const params = this.inPanic ? [] : this.params()
    const result = this.inPanic ? null : this.result()
    const body = this.block()
    return { kind: 'Workflow', start, end: this.lastEnd, ...prefix, name, params, result, body }
  }

  /** Parses an activity; `activity` is next. */
  protected activity({ start, ...prefix }: Prefix): Activity {
    this.advance()
    const name = this.expectName('the name of an activity')
    const params = this.inPanic ? [] : this.params()
    const result = this.inPanic ? null : this.result()
    const options = this.accept(Kind.With) ? this.head() : null
    const body = this.block()
    return { kind: 'Activity', start, end: this.lastEnd, ...prefix, name, params, result, options, body }
  }

  /** Parses an agent; `agent` is next. */
  protected agent({ start, ...prefix }: Prefix): Agent {
    this.advance()
    const name = this.expectTypeName('an agent')
    const members = this.inPanic ? [] : this.members('the members of an agent', () => this.#agentMember())
    return { kind: 'Agent', start, end: this.lastEnd, ...prefix, name, members }
  }

  #agentMember(): Agent['members'][number] {
    const { start } = this
    if (this.atWord('version') && this.second === Kind.String) {
      this.advance()
      const version = this.takeString()
      return { kind: 'AgentVersion', start, end: this.lastEnd, version }
    }
    if (this.kind === Kind.Migrate && this.second !== Kind.Colon) {
      this.advance()
      if (!this.acceptWord('from')) this.failExpecting(['`from`'], 'after `migrate`')
      const from = this.expectString('the version to migrate from')
      const body = this.block()
      return { kind: 'Migration', start, end: this.lastEnd, from, body }
    }
    if (this.atHandler) return this.handler()
    const third = this.tokens.kind(this.position + 2)
    const isProperty = this.atName && this.second === Kind.Colon
    if (!isProperty || (third !== Kind.String && third !== Kind.LeftBracket)) return this.stateField()
    const name = this.takeName()
    this.advance()
    const value = this.expression()
    return { kind: 'AgentProperty', start, end: this.lastEnd, name, value }
  }

  /** Parses an environment; `env` or `environment` is next. */
  protected environment({ start, ...prefix }: Prefix): Environment {
    this.advance()
    const name = this.expectName('the name of an environment')
    const items = this.inPanic ? [] : this.members('the items of an environment', () => this.#environmentItem())
    return { kind: 'Environment', start, end: this.lastEnd, ...prefix, name, items }
  }

  #environmentItem(): EnvironmentItem {
    const { start, text } = this
    switch (text) {
      case 'env': {
        this.advance()
        const name = this.expectName('the name of a variable')
        this.expect(Kind.Equal, 'before the value of the variable')
        const value = this.inPanic ? this.missing() : this.expression()
        return { kind: 'EnvironmentVariable', start, end: this.lastEnd, name, value }
      }
      case 'copy': {
        this.advance()
        const from = this.expectString('the path to copy')
        this.expect(Kind.To, 'between the two paths of `copy`')
        const to = this.expectString('the path of the copy')
        return { kind: 'EnvironmentCopy', start, end: this.lastEnd, from, to }
      }
      case 'base':
      case 'workdir':
      case 'run': {
        this.advance()
        const value = this.expectString(`the value of \`${text}\``)
        return { kind: 'EnvironmentValue', start, end: this.lastEnd, key: text, value }
      }
      case 'packages':
      case 'expose':
      case 'volumes':
      case 'cmd': {
        this.advance()
        const isText = text === 'cmd' && this.kind === Kind.String
        if (!isText && this.kind !== Kind.LeftBracket) this.failExpecting(['a list'], `after \`${text}\``)
        const value = this.inPanic ? this.missing() : this.expression()
        return { kind: 'EnvironmentValue', start, end: this.lastEnd, key: text, value }
      }
      default: {
        const keys = ['base', 'packages', 'env', 'expose', 'volumes', 'workdir', 'cmd', 'copy', 'run']
        this.failExpecting(
          keys.map(key => `\`${key}\``),
          'in an environment'
        )
        const value = this.expectString('a value')
        return { kind: 'EnvironmentValue', start, end: Math.max(start, this.lastEnd), key: 'run', value }
      }
    }
  }
}
