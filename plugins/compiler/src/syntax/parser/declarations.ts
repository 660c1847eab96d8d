// toestub-ignore(arch/god_object) - one function for each form of declaration; they share only the parser
import type {
  Activity,
  Actor,
  Agent,
  AppHook,
  Component,
  ComponentMember,
  Decorator,
  Environment,
  EnvironmentItem,
  Expression,
  ExternFunction,
  Field,
  Form,
  FormField,
  FormRedirect,
  Fragment,
  FunctionDeclaration,
  FunctionRole,
  Handler,
  HttpRoute,
  Index,
  Island,
  MachineState,
  Name,
  RouteEntry,
  RouteFallback,
  Routes,
  StateField,
  StateMachine,
  StyleBlock,
  StyleRule,
  Table,
  Transition,
  TypeDeclaration,
  TypeDefinition,
  UrlDeclaration,
  UrlEntry,
  V0Component,
  Variant,
  Workflow
} from '../ast.ts'
import { WITHOUT_BODY } from '../decorators.ts'
import { roleTexts } from '../role-texts.ts'
import { Kind } from '../token.ts'
import { missing, parseBlock, parseBody, parseExpression, parseHead, parseParams, parseStatement } from './body.ts'
import { parseDecorators, parseField, parseFields } from './decorators.ts'
import { list, parseMembers } from './lists.ts'
import type { Parser } from './parser.ts'
import { noType, parseType, resultType } from './types-and-patterns.ts'

/** The parsed beginning of a declaration: its start, decorators and `pub`. */
export interface Prefix {
  readonly start: number
  /** Decorators, without the one that begins the declaration. */
  readonly decorators: readonly Decorator[]
  readonly isPublic: boolean
}

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

/** Parses a type declaration; `type` is next. */
export function typeDeclaration(p: Parser, { start, ...prefix }: Prefix): TypeDeclaration {
  p.advance()
  const name = p.expectTypeName('a type')
  const generics = genericParams(p)
  const definition = p.inPanic ? ({ form: 'struct', fields: [] } as const) : typeDefinition(p)
  return { kind: 'Type', start, end: p.lastEnd, ...prefix, name, generics, definition }
}

function genericParams(p: Parser): Name[] {
  if (p.kind === Kind.LeftBracket) return list(p, Kind.RightBracket, () => p.expectName('the name of a type'))
  if (p.kind === Kind.Less) return list(p, Kind.Greater, () => p.expectName('the name of a type'))
  return []
}

function typeDefinition(p: Parser): TypeDefinition {
  if (p.kind === Kind.LeftBrace) return { form: 'struct', fields: parseFields(p, false) }
  if (!p.accept(Kind.Equal)) {
    p.failExpecting(['`=`', '`{`'], 'after the name of a type')
    return { form: 'struct', fields: [] }
  }
  return atVariant(p) ? { form: 'variants', variants: variantList(p) } : { form: 'alias', type: parseType(p) }
}

function atVariant(p: Parser): boolean {
  if (p.kind === Kind.Bar) return true
  return p.atName && (p.second === Kind.Bar || (p.second === Kind.LeftParen && p.kind !== Kind.Fn))
}

function variantList(p: Parser): Variant[] {
  const variants: Variant[] = []
  p.accept(Kind.Bar)
  do variants.push(parseVariant(p))
  while (!p.inPanic && p.accept(Kind.Bar))
  return variants
}

function parseVariant(p: Parser): Variant {
  const { start } = p
  const name = p.expectName('the name of a variant')
  const isRecord = p.kind === Kind.LeftBrace && !p.onNewLine
  const isTuple = p.kind === Kind.LeftParen && !p.onNewLine
  let index = 0
  const fields = isRecord ? parseFields(p, false) : isTuple ? list(p, Kind.RightParen, () => payload(p, index++)) : []
  return { kind: 'Variant', start, end: p.lastEnd, name, fields, isRecord }
}

function payload(p: Parser, index: number): Field {
  if (p.atName && p.second === Kind.Colon) return parseField(p, false)
  const { start } = p
  const name = { start, end: start, text: `_${index}` }
  const type = parseType(p)
  return { kind: 'Field', start, end: p.lastEnd, decorators: [], name, isOptional: false, type, value: null }
}

/** Parses a table; `type` or `pub type` is next. */
export function parseTable(p: Parser, { start, ...prefix }: Prefix, storage: Table['storage']): Table {
  const isPublic = p.accept(Kind.Pub) || prefix.isPublic
  p.expect(Kind.Type, `after \`@${storage}\``)
  const name = p.inPanic ? p.noName() : p.expectTypeName('a table')
  const fields = p.inPanic ? [] : parseFields(p, false)
  return { kind: 'Table', start, end: p.lastEnd, ...prefix, isPublic, storage, name, fields }
}

/** Parses an index; the name of its table is next. */
export function parseIndex(p: Parser, { start }: Prefix, variant: Index['variant']): Index {
  const table = p.expectTypeName('a table')
  p.expect(Kind.Dot, 'before the name of the index')
  const name = p.inPanic ? p.noName() : p.expectName('the name of the index')
  p.expect(Kind.On, 'before the columns of the index')
  let columns: Name[] = []
  if (p.kind === Kind.LeftParen) columns = list(p, Kind.RightParen, () => p.expectName('a column'))
  else p.failExpecting(['`(`'], 'before the columns of an index')
  const options = p.accept(Kind.With) ? parseExpression(p) : null
  return { kind: 'Index', start, end: p.lastEnd, variant, table, name, columns, options }
}

/** Parses a function; `fn` or `async` is next. */
export function parseFunction(p: Parser, { start, ...prefix }: Prefix): FunctionDeclaration {
  const isAsync = p.accept(Kind.Async)
  p.expect(Kind.Fn, 'after `async`')
  const name = p.inPanic ? p.noName() : p.expectName('the name of a function')
  const generics = p.inPanic ? [] : genericParams(p)
  const params = p.inPanic ? [] : parseParams(p)
  const effects = []
  if (!p.inPanic && p.acceptWord('uses')) {
    do effects.push(p.expectName('an effect'))
    while (p.accept(Kind.Comma))
  }
  const result = p.inPanic ? null : resultType(p)
  const { decorators } = prefix
  const needsBlock = !decorators.some(decorator => WITHOUT_BODY.has(decorator.name.text))
  const body = p.kind === Kind.LeftBrace || (needsBlock && !p.inPanic) ? parseBlock(p) : null
  const roleDecorator = roleOf(p, decorators)
  const role = (roleDecorator?.name.text ?? 'plain') as FunctionRole
  const header = { ...prefix, role, roleDecorator, isAsync, name, generics, params, effects, result }
  return { kind: 'Function', start, end: p.lastEnd, ...header, body }
}

function roleOf(p: Parser, decorators: readonly Decorator[]): Decorator | null {
  const [first, second] = decorators.filter(({ name }) => ROLES.has(name.text))
  if (first !== undefined && second !== undefined) {
    p.report('E0001', `a function cannot be both \`@${first.name.text}\` and \`@${second.name.text}\``, second, {
      related: [{ span: first, message: 'the other role' }]
    })
  }
  const texts = first === undefined ? 0 : (TEXTS[first.name.text] ?? 0)
  if (first !== undefined && roleTexts(first).length < texts) {
    p.report(
      'E0001',
      `\`@${first.name.text}\` requires ${texts === 1 ? 'a description' : 'a URI and a description'}`,
      first
    )
  }
  return first ?? null
}

/** Parses an external function; `extern` is next. */
export function externFunction(p: Parser, { start, ...prefix }: Prefix): ExternFunction {
  p.advance()
  p.expect(Kind.Fn, 'after `extern`')
  const name = p.inPanic ? p.noName() : p.expectName('the name of a function')
  const params = p.inPanic ? [] : parseParams(p)
  const result = p.inPanic ? null : resultType(p)
  p.expect(Kind.Equal, 'before the binding of the function')
  const binding = p.expectString('the binding')
  return { kind: 'ExternFunction', start, end: p.lastEnd, ...prefix, name, params, result, binding }
}

/** Parses a route; `http` is next. */
export function httpRoute(p: Parser, { start, ...prefix }: Prefix): HttpRoute {
  p.advance()
  const method = METHODS.find(word => p.atWord(word))
  if (method === undefined)
    p.failExpecting(
      METHODS.map(word => `\`${word}\``),
      'after `http`'
    )
  else p.advance()
  const path = p.expectString('the path of the route')
  const params = p.kind === Kind.LeftParen ? parseParams(p) : null
  const result = p.inPanic ? null : resultType(p)
  const body = parseBlock(p)
  const route = { kind: 'HttpRoute', start, end: p.lastEnd, ...prefix } as const
  return { ...route, method: method ?? 'get', path, params, result, body }
}

/** Parses a handler; `on` is next, or a decorator. */
function parseHandler(p: Parser): Handler {
  const { start } = p
  const decorators = parseDecorators(p)
  p.expect(Kind.On, 'before the event of a handler')
  const event = p.inPanic ? p.noName() : p.expectName('the name of an event')
  const params = p.inPanic ? [] : parseParams(p)
  const result = p.inPanic ? null : resultType(p)
  const body = parseBlock(p)
  return { kind: 'Handler', start, end: p.lastEnd, decorators, event, params, result, body }
}

function atHandler(p: Parser): boolean {
  return p.kind === Kind.Decorator || (p.kind === Kind.On && p.second !== Kind.Colon)
}

function stateField(p: Parser): StateField {
  const { start } = p
  const isLet = p.accept(Kind.Let)
  const isMutable = isLet && p.accept(Kind.Mut)
  const isState = !isLet && p.kind === Kind.State && p.second !== Kind.Colon
  if (isState) p.advance()
  const name = p.expectName('a field, `on` or `}`')
  if (!isLet && p.kind !== Kind.Colon) p.failExpecting(['`:`'], 'after the name of a field')
  const type = p.accept(Kind.Colon) ? parseType(p) : null
  if (isLet && p.kind !== Kind.Equal) p.failExpecting(['`=`'], 'before a value')
  const value = p.accept(Kind.Equal) ? parseExpression(p) : null
  const form = isLet ? 'let' : isState ? 'state' : 'plain'
  return { kind: 'StateField', start, end: p.lastEnd, form, isMutable, name, type, value }
}

/** Parses an actor; `actor` is next. */
export function parseActor(p: Parser, { start, ...prefix }: Prefix): Actor {
  p.advance()
  const name = p.expectTypeName('an actor')
  const params = p.kind === Kind.LeftParen ? parseParams(p) : null
  const members = p.inPanic
    ? []
    : parseMembers(p, 'the handlers of an actor', () => (atHandler(p) ? parseHandler(p) : stateField(p)))
  return { kind: 'Actor', start, end: p.lastEnd, ...prefix, name, params, members }
}

/** Parses a workflow; `workflow` is next. */
export function parseWorkflow(p: Parser, { start, ...prefix }: Prefix): Workflow {
  p.advance()
  const name = p.expectName('the name of a workflow')
  const params = p.inPanic ? [] : parseParams(p)
  const result = p.inPanic ? null : resultType(p)
  const body = parseBlock(p)
  return { kind: 'Workflow', start, end: p.lastEnd, ...prefix, name, params, result, body }
}

/** Parses an activity; `activity` is next. */
export function parseActivity(p: Parser, { start, ...prefix }: Prefix): Activity {
  p.advance()
  const name = p.expectName('the name of an activity')
  const params = p.inPanic ? [] : parseParams(p)
  const result = p.inPanic ? null : resultType(p)
  const options = p.accept(Kind.With) ? parseHead(p) : null
  const body = parseBlock(p)
  return { kind: 'Activity', start, end: p.lastEnd, ...prefix, name, params, result, options, body }
}

/** Parses an agent; `agent` is next. */
export function parseAgent(p: Parser, { start, ...prefix }: Prefix): Agent {
  p.advance()
  const name = p.expectTypeName('an agent')
  const members = p.inPanic ? [] : parseMembers(p, 'the members of an agent', agentMember)
  return { kind: 'Agent', start, end: p.lastEnd, ...prefix, name, members }
}

function agentMember(p: Parser): Agent['members'][number] {
  const { start } = p
  if (p.atWord('version') && p.second === Kind.String) {
    p.advance()
    const version = p.takeString()
    return { kind: 'AgentVersion', start, end: p.lastEnd, version }
  }
  if (p.kind === Kind.Migrate && p.second !== Kind.Colon) {
    p.advance()
    if (!p.acceptWord('from')) p.failExpecting(['`from`'], 'after `migrate`')
    const from = p.expectString('the version to migrate from')
    const body = parseBlock(p)
    return { kind: 'Migration', start, end: p.lastEnd, from, body }
  }
  if (atHandler(p)) return parseHandler(p)
  const third = p.tokens.kind(p.position + 2)
  const isProperty = p.atName && p.second === Kind.Colon
  if (!isProperty || (third !== Kind.String && third !== Kind.LeftBracket)) return stateField(p)
  const name = p.takeName()
  p.advance()
  const value = parseExpression(p)
  return { kind: 'AgentProperty', start, end: p.lastEnd, name, value }
}

/** Parses an environment; `env` or `environment` is next. */
export function parseEnvironment(p: Parser, { start, ...prefix }: Prefix): Environment {
  p.advance()
  const name = p.expectName('the name of an environment')
  const items = p.inPanic ? [] : parseMembers(p, 'the items of an environment', environmentItem)
  return { kind: 'Environment', start, end: p.lastEnd, ...prefix, name, items }
}

function environmentItem(p: Parser): EnvironmentItem {
  const { start, text } = p
  switch (text) {
    case 'env': {
      p.advance()
      const name = p.expectName('the name of a variable')
      p.expect(Kind.Equal, 'before the value of the variable')
      const value = p.inPanic ? missing(p) : parseExpression(p)
      return { kind: 'EnvironmentVariable', start, end: p.lastEnd, name, value }
    }
    case 'copy': {
      p.advance()
      const from = p.expectString('the path to copy')
      p.expect(Kind.To, 'between the two paths of `copy`')
      const to = p.expectString('the path of the copy')
      return { kind: 'EnvironmentCopy', start, end: p.lastEnd, from, to }
    }
    case 'base':
    case 'workdir':
    case 'run': {
      p.advance()
      const value = p.expectString(`the value of \`${text}\``)
      return { kind: 'EnvironmentValue', start, end: p.lastEnd, key: text, value }
    }
    case 'packages':
    case 'expose':
    case 'volumes':
    case 'cmd': {
      p.advance()
      const isText = text === 'cmd' && p.kind === Kind.String
      if (!isText && p.kind !== Kind.LeftBracket) p.failExpecting(['a list'], `after \`${text}\``)
      const value = p.inPanic ? missing(p) : parseExpression(p)
      return { kind: 'EnvironmentValue', start, end: p.lastEnd, key: text, value }
    }
    default: {
      const keys = ['base', 'packages', 'env', 'expose', 'volumes', 'workdir', 'cmd', 'copy', 'run']
      p.failExpecting(
        keys.map(key => `\`${key}\``),
        'in an environment'
      )
      const value = p.expectString('a value')
      return { kind: 'EnvironmentValue', start, end: Math.max(start, p.lastEnd), key: 'run', value }
    }
  }
}

/** Parses a component; its name is next. */
export function parseComponent(p: Parser, { start, ...prefix }: Prefix): Component {
  const name = p.expectTypeName('a component')
  const params = p.inPanic ? [] : parseParams(p)
  const { start: opening } = p
  const members = p.inPanic ? [] : parseMembers(p, 'the members of a component', componentMember)
  const body = { start: opening, end: Math.max(opening, p.lastEnd) }
  const styles: StyleBlock[] = []
  while (!p.inPanic && p.second === Kind.LeftBrace && (p.atWord('style') || p.atWord('raw_css'))) {
    styles.push(styleBlock(p))
  }
  return { kind: 'Component', start, end: p.lastEnd, ...prefix, name, params, members, body, styles }
}

function componentMember(p: Parser): ComponentMember {
  const { start, kind, second } = p
  if ((kind === Kind.State || kind === Kind.Derived) && namesValue(p)) {
    p.advance()
    const name = p.expectName('a name')
    const type = p.accept(Kind.Colon) ? parseType(p) : null
    p.expect(Kind.Equal, 'before a value')
    const value = p.inPanic ? missing(p) : parseExpression(p)
    return { kind: kind === Kind.State ? 'State' : 'Derived', start, end: p.lastEnd, name, type, value }
  }
  if (kind === Kind.Effect && (second === Kind.Colon || p.isWord(p.position + 1, 'depends_on'))) {
    return parseEffect(p)
  }
  if (kind === Kind.On && (second === Kind.Mount || second === Kind.Cleanup)) {
    p.advance()
    return lifecycle(p, start)
  }
  if ((kind === Kind.Mount || kind === Kind.Cleanup) && second === Kind.Colon) return lifecycle(p, start)
  if (kind === Kind.View && second !== Kind.Equal && second !== Kind.Dot && second !== Kind.LeftParen) {
    p.advance()
    const { start: at } = p
    if (!p.accept(Kind.Colon)) {
      p.report('E0001', '`view` requires a colon before the element', p.here(), {
        fixes: [{ label: 'write `view:`', span: { start: at, end: at }, replacement: ': ' }]
      })
    }
    const root = parseExpression(p)
    return { kind: 'View', start, end: p.lastEnd, root }
  }
  return parseStatement(p)
}

/** True if `state` or `derived` begins a declaration, rather than being the name of a variable. */
function namesValue(p: Parser): boolean {
  const after = p.tokens.kind(p.position + 2)
  return p.isNameAhead && (after === Kind.Equal || after === Kind.Colon)
}

function parseEffect(p: Parser): ComponentMember {
  const { start } = p
  p.advance()
  let dependencies: Name[] | null = null
  if (p.acceptWord('depends_on')) {
    if (p.kind === Kind.LeftParen) dependencies = list(p, Kind.RightParen, () => p.expectName('a name'))
    else p.failExpecting(['`(`'], 'after `depends_on`')
  }
  p.expect(Kind.Colon, 'before the body of an effect')
  const body = p.inPanic ? missing(p) : parseBody(p)
  return { kind: 'Effect', start, end: p.lastEnd, dependencies, body }
}

function lifecycle(p: Parser, start: number): ComponentMember {
  const moment = p.kind === Kind.Mount ? 'mount' : 'cleanup'
  p.advance()
  p.expect(Kind.Colon, `after \`${moment}\``)
  const body = p.inPanic ? missing(p) : parseBody(p)
  return { kind: 'Lifecycle', start, end: p.lastEnd, moment, body }
}

function styleBlock(p: Parser): StyleBlock {
  const { start } = p
  const form = p.atWord('style') ? 'style' : 'raw_css'
  p.advance()
  const rules = parseMembers(p, 'rules', styleRule)
  return { kind: 'StyleBlock', start, end: p.lastEnd, form, rules }
}

function styleRule(p: Parser): StyleRule {
  const { start } = p
  p.expect(Kind.Dot, 'before the name of a class')
  const className = p.inPanic ? p.noName() : dashedName(p, 'the name of a class')
  const properties = p.inPanic ? [] : parseMembers(p, 'properties', styleProperty)
  return { kind: 'StyleRule', start, end: p.lastEnd, className, properties }
}

function styleProperty(p: Parser): StyleRule['properties'][number] {
  const { start } = p
  const name = dashedName(p, 'a property')
  p.expect(Kind.Colon, 'after a property')
  const value = p.expectString('the value of a property')
  return { kind: 'StyleProperty', start, end: p.lastEnd, name, value }
}

/** Reads a CSS name: words joined by dashes without spaces. */
function dashedName(p: Parser, description: string): Name {
  const { start, end, text } = p.expectName(description)
  let last = end
  while (p.kind === Kind.Minus && p.start === last && p.isNameAhead) {
    p.advance()
    last = p.takeName().end
  }
  return { start, end: last, text: last === end ? text : p.tokens.source.slice(start, last) }
}

/** Parses an island; its name is next. */
export function parseIsland(p: Parser, { start, ...prefix }: Prefix): Island {
  const name = p.expectTypeName('an island')
  const props = p.inPanic ? [] : parseFields(p, true)
  return { kind: 'Island', start, end: p.lastEnd, ...prefix, name, props }
}

/** Parses a v0 component; `from` or its name is next. `source` is the string after the decorator. */
export function v0Component(
  p: Parser,
  { start, ...prefix }: Prefix,
  source: V0Component['source'] | undefined
): V0Component {
  const fromFile = source === undefined && p.acceptWord('from')
  const sourceString =
    source ?? p.expectString(fromFile ? 'the file of the component' : 'the component of v0, or `from`,')
  const name = p.inPanic ? p.noName() : p.expectTypeName('a component')
  const props = p.inPanic ? [] : parseFields(p, true)
  return { kind: 'V0', start, end: p.lastEnd, ...prefix, source: sourceString, fromFile, name, props }
}

/** Parses client routes; `routes` is next. */
export function parseRoutes(p: Parser, { start, ...prefix }: Prefix): Routes {
  p.advance()
  const entries = parseMembers(p, 'routes', () => (p.kind === Kind.String ? routeEntry(p) : routeFallback(p)))
  return { kind: 'Routes', start, end: p.lastEnd, ...prefix, entries }
}

function routeFallback(p: Parser): RouteFallback {
  const { start } = p
  const moment = p.atWord('error') ? 'error' : 'not_found'
  if (p.atWord(moment)) p.advance()
  else p.failExpecting(['a path', '`not_found`', '`error`'], 'in `routes`')
  p.expect(Kind.Colon, `after \`${moment}\``)
  const component = p.inPanic ? p.noName() : p.expectTypeName('a component')
  return { kind: 'RouteFallback', start, end: p.lastEnd, moment, component }
}

function routeEntry(p: Parser): RouteEntry {
  const { start } = p
  const path = p.expectString('a path')
  if (p.kind !== Kind.To && !p.inPanic) {
    const at = { start: path.end, end: path.end }
    p.report('E0001', 'an entry of `routes` requires `to` between the path and the component', p.here(), {
      ...(p.kind === Kind.TypeIdentifier ? { fixes: [{ label: 'write `to`', span: at, replacement: ' to' }] } : {})
    })
    if (p.kind !== Kind.TypeIdentifier) p.inPanic = true
  } else p.accept(Kind.To)
  const component = p.inPanic ? p.noName() : p.expectTypeName('a component')
  let options: RouteEntry['options'] = []
  if (!p.inPanic && p.accept(Kind.With)) {
    options = p.kind === Kind.LeftParen ? list(p, Kind.RightParen, routeOption) : [routeOption(p)]
  }
  const hasChildren = p.kind === Kind.LeftBrace && !p.inPanic
  const children = hasChildren ? parseMembers(p, 'routes', routeEntry) : []
  return { kind: 'RouteEntry', start, end: p.lastEnd, path, component, options, children }
}

function routeOption(p: Parser): RouteEntry['options'][number] {
  const key = p.expectName('`loader`, `pending` or `error`')
  p.expect(Kind.Colon, 'after an option of a route')
  return { key, value: p.inPanic ? p.noName() : p.expectName('a name') }
}

/** Parses a `url` declaration; `url` is next. */
export function parseUrl(p: Parser, { start, ...prefix }: Prefix): UrlDeclaration {
  p.advance()
  const name = p.expectTypeName('a `url` declaration')
  const entries = p.inPanic ? [] : parseMembers(p, 'urls', urlEntry)
  return { kind: 'Url', start, end: p.lastEnd, ...prefix, name, entries }
}

function urlEntry(p: Parser): UrlEntry {
  const { start } = p
  const name = p.expectName('the name of a url')
  const params = p.kind === Kind.LeftParen ? list(p, Kind.RightParen, urlParam) : []
  return { kind: 'UrlEntry', start, end: p.lastEnd, name, params }
}

function urlParam(p: Parser): UrlEntry['params'][number] {
  const { start } = p
  const isOptional = p.accept(Kind.Question)
  const name = p.expectName('the name of a parameter')
  p.expect(Kind.Colon, 'after the name of a parameter')
  const type = p.inPanic ? noType(p) : parseType(p)
  return { kind: 'UrlParam', start, end: p.lastEnd, isOptional, name, type }
}

/** Parses a state machine; `state_machine` or `partial` is next. */
export function stateMachine(p: Parser, { start, ...prefix }: Prefix): StateMachine {
  const isPartial = p.acceptWord('partial')
  if (!p.acceptWord('state_machine')) p.failExpecting(['`state_machine`'], 'after `partial`')
  const name = p.inPanic ? p.noName() : p.expectTypeName('a state machine')
  const items = p.inPanic ? [] : parseMembers(p, 'states', machineItem)
  return { kind: 'StateMachine', start, end: p.lastEnd, ...prefix, isPartial, name, items }
}

function machineItem(p: Parser): MachineState | Transition {
  const { start } = p
  if (p.kind === Kind.On) return parseTransition(p)
  const isTerminal = p.acceptWord('terminal')
  if (!p.accept(Kind.State)) p.failExpecting(['`state`', '`terminal`', '`on`'], 'in a state machine')
  const name = p.inPanic ? p.noName() : p.expectTypeName('a state')
  const params = p.kind === Kind.LeftParen ? parseParams(p) : []
  return { kind: 'MachineState', start, end: p.lastEnd, isTerminal, name, params }
}

function parseTransition(p: Parser): Transition {
  const { start } = p
  p.advance()
  const event = p.expectName('the name of an event')
  const params = p.kind === Kind.LeftParen ? parseParams(p) : []
  if (!p.inPanic && !p.acceptWord('from')) p.failExpecting(['`from`'], 'before the source state')
  const from = p.inPanic ? p.noName() : p.expectName('a state, `any` or `_`')
  const fromArgs = callArguments(p)
  p.expect(Kind.Arrow, 'before the target state')
  const target = p.inPanic ? p.noName() : p.expectTypeName('a state')
  const targetArgs = callArguments(p)
  return { kind: 'Transition', start, end: p.lastEnd, event, params, from, fromArgs, target, targetArgs }
}

function callArguments(p: Parser): Expression[] | null {
  if (p.kind !== Kind.LeftParen || p.onNewLine) return null
  return list(p, Kind.RightParen, parseExpression)
}

/** Parses a fragment; `fragment` is next. */
export function parseFragment(p: Parser, { start, ...prefix }: Prefix): Fragment {
  p.advance()
  const name = p.expectTypeName('a fragment')
  const params = p.inPanic ? [] : parseParams(p)
  const [body = missing(p), second] = p.inPanic ? [] : parseMembers(p, 'the view of a fragment', parseExpression)
  if (second !== undefined) p.report('E0001', 'a fragment must be a single expression', second)
  return { kind: 'Fragment', start, end: p.lastEnd, ...prefix, name, params, body }
}

/** Parses a form; its name is next. */
export function parseForm(p: Parser, { start, ...prefix }: Prefix): Form {
  const name = p.expectTypeName('a form')
  const items = p.inPanic ? [] : parseMembers(p, 'fields', formItem)
  return { kind: 'Form', start, end: p.lastEnd, ...prefix, name, items }
}

function formItem(p: Parser): Form['items'][number] {
  const { start } = p
  if (p.acceptWord('on_submit')) {
    p.expect(Kind.Colon, 'after `on_submit`')
    const handler = p.inPanic ? p.noName() : p.expectName('the name of a function')
    return { kind: 'FormSubmit', start, end: p.lastEnd, handler }
  }
  if (p.atWord('success_redirect') && p.second === Kind.Colon) return formRedirect(p)
  if (!p.acceptWord('field')) p.failExpecting(['`field`', '`on_submit`', '`success_redirect`'], 'in a form')
  const name = p.inPanic ? p.noName() : p.expectName('the name of a field')
  p.expect(Kind.Colon, 'after the name of a field')
  const type = p.inPanic ? noType(p) : parseType(p)
  const rules: FormField['rules'][number][] = []
  while (!p.inPanic && p.atName && !p.onNewLine && p.second !== Kind.Colon) {
    rules.push({ name: p.takeName(), args: callArguments(p) })
  }
  return { kind: 'FormField', start, end: p.lastEnd, name, type, rules }
}

function formRedirect(p: Parser): FormRedirect {
  const { start } = p
  p.advance()
  p.advance()
  const path = p.expectString('the path of a page')
  if (path.end > path.start && !/^\/(?![/\\])/.test(path.value)) {
    p.report('E0001', '`success_redirect` must be a path of this site', path, {
      suggestions: ['write a path that begins with one slash: `"/thanks"`']
    })
  }
  return { kind: 'FormRedirect', start, end: p.lastEnd, path }
}

/** Parses an app hook; its name or the opening brace is next. */
export function appHook(p: Parser, { start, ...prefix }: Prefix, hook: AppHook['hook']): AppHook {
  const name = p.atName ? p.takeName() : null
  const entries = parseMembers(p, 'entries', () => {
    const { start: from } = p
    const key = p.expectName('the name of an entry')
    p.expect(Kind.Colon, 'after the name of an entry')
    const value = p.inPanic ? missing(p) : parseExpression(p)
    return { kind: 'AppHookEntry', start: from, end: p.lastEnd, name: key, value } as const
  })
  return { kind: 'AppHook', start, end: p.lastEnd, ...prefix, hook, name, entries }
}
