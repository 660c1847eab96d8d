import { insteadOfDeclaration } from '../../diagnostics/other-languages.ts'
import type {
  AppHook,
  Const,
  Declaration,
  Decorator,
  Import,
  ImportItem,
  Index,
  Module,
  Name,
  StringLiteral,
  Table
} from '../ast.ts'
import { decoratorUse } from '../decorators.ts'
import { Kind, LAST_SOFT_KEYWORD } from '../token.ts'
import { letStatement, missing, parseExpression, parseStatement } from './body.ts'
import {
  appHook,
  externFunction,
  httpRoute,
  type Prefix,
  parseActivity,
  parseActor,
  parseAgent,
  parseComponent,
  parseEnvironment,
  parseForm,
  parseFragment,
  parseFunction,
  parseIndex,
  parseIsland,
  parseRoutes,
  parseTable,
  parseUrl,
  parseWorkflow,
  stateMachine,
  typeDeclaration,
  v0Component
} from './declarations.ts'
import { parseDecorators } from './decorators.ts'
import { list } from './lists.ts'
import type { Parser } from './parser.ts'
import { parseType } from './types-and-patterns.ts'

const STARTS = [
  '`fn`',
  '`type`',
  '`let`',
  '`import`',
  '`http`',
  '`actor`',
  '`workflow`',
  '`activity`',
  '`agent`',
  '`env`',
  '`component`',
  '`routes`',
  'a decorator'
]

const METADATA = ['version', 'path', 'git', 'rev', 'branch']

export function parseModule(p: Parser): Module {
  const items: Declaration[] = []
  while (p.kind !== Kind.EndOfFile) {
    const before = p.position
    const item = moduleItem(p)
    if (item !== null) items.push(item)
    if (p.inPanic || p.position === before) toNextDeclaration(p, before)
  }
  return { kind: 'Module', start: 0, end: p.tokens.source.length, items, nodeCount: p.nextId }
}

function moduleItem(p: Parser): Declaration | null {
  const { start } = p
  const decorators = parseDecorators(p)
  if (p.inPanic) return null
  const structural = structuralOf(decorators)
  const marks = structural === undefined ? decorators : decorators.filter(each => each !== structural)
  const isPublic = p.kind === Kind.Pub
  const prefix = { start, decorators: marks, isPublic }
  if (isPublic && structural === undefined) return publicDeclaration(p, prefix)
  return structural === undefined ? declaration(p, prefix) : decoratedDeclaration(p, prefix, structural)
}

function structuralOf(decorators: readonly Decorator[]): Decorator | undefined {
  return decorators.find(({ name }) => decoratorUse(name.text) === 'declaration')
}

/** Parses a public declaration; `pub` is next. */
function publicDeclaration(p: Parser, prefix: Prefix): Declaration | null {
  p.advance()
  const decorators = [...prefix.decorators, ...parseDecorators(p)]
  const structural = structuralOf(decorators)
  const marks = decorators.filter(each => each !== structural)
  const isFunction = p.kind === Kind.Fn || p.kind === Kind.Async
  const isNamed = p.atWord('url') || p.atWord('state_machine') || p.atWord('partial')
  if (isFunction || p.kind === Kind.Type || (isNamed && atWordDeclaration(p) && structural === undefined)) {
    const next = { ...prefix, decorators: marks }
    return structural === undefined ? declaration(p, next) : decoratedDeclaration(p, next, structural)
  }
  p.failExpecting(['`fn`', '`type`'], 'after `pub`')
  return null
}

/** True if a contextual keyword begins a declaration here. */
function atWordDeclaration(p: Parser): boolean {
  if (p.atWord('routes')) return p.second === Kind.LeftBrace
  if (p.atWord('url') || p.atWord('state_machine')) return p.second === Kind.TypeIdentifier
  if (p.atWord('environment')) return isDeclared(p)
  if (p.atWord('partial')) return p.isWord(p.position + 1, 'state_machine')
  return p.atWord('const') && isDeclared(p)
}

function declaration(p: Parser, prefix: Prefix): Declaration | null {
  switch (p.kind) {
    case Kind.Import:
      return parseImport(p, prefix)
    case Kind.Type:
      return typeDeclaration(p, prefix)
    case Kind.Fn:
    case Kind.Async:
      if (!p.options.script || p.kind === Kind.Async || p.isNameAhead) return parseFunction(p, prefix)
      break
    case Kind.Extern:
      return externFunction(p, prefix)
    case Kind.Let:
      if (!p.options.script) return parseConstant(p, prefix)
      break
    case Kind.Http:
      if (isDeclared(p)) return httpRoute(p, prefix)
      break
    case Kind.Actor:
      if (isDeclared(p)) return parseActor(p, prefix)
      break
    case Kind.Workflow:
      if (isDeclared(p)) return parseWorkflow(p, prefix)
      break
    case Kind.Activity:
      if (isDeclared(p)) return parseActivity(p, prefix)
      break
    case Kind.Agent:
      if (isDeclared(p)) return parseAgent(p, prefix)
      break
    case Kind.Env:
      if (isDeclared(p)) return parseEnvironment(p, prefix)
      break
    case Kind.Fragment:
      if (isDeclared(p)) return parseFragment(p, prefix)
      break
    case Kind.Component:
      if (!isDeclared(p)) break
      p.advance()
      return parseComponent(p, prefix)
    default:
      if (atWordDeclaration(p)) return wordDeclaration(p, prefix)
  }
  return scriptStatement(p, prefix)
}

/** True if the next word is a contextual keyword that begins a declaration, rather than a variable. */
function isDeclared(p: Parser): boolean {
  return p.second <= LAST_SOFT_KEYWORD && p.isNameAhead
}

function wordDeclaration(p: Parser, prefix: Prefix): Declaration {
  if (p.atWord('routes')) return parseRoutes(p, prefix)
  if (p.atWord('url')) return parseUrl(p, prefix)
  if (p.atWord('environment')) return parseEnvironment(p, prefix)
  return p.atWord('const') ? parseConstant(p, prefix) : stateMachine(p, prefix)
}

/** Parses a statement of a script; reports an error in a module. */
function scriptStatement(p: Parser, { start, decorators }: Prefix): Declaration | null {
  if (p.options.script && decorators.length === 0) {
    const statement = parseStatement(p)
    p.accept(Kind.Comma)
    return { kind: 'ScriptStatement', start, end: p.lastEnd, statement }
  }
  const [decorator] = decorators
  if (decorator !== undefined) {
    p.failExpecting(['a declaration'], `after \`@${decorator.name.text}\``, { nodeKind: 'Declaration' })
  } else {
    const instead = p.atName ? insteadOfDeclaration(p.text) : undefined
    p.fail(`${p.found()} cannot begin a declaration; expected ${STARTS.join(', ')}`, p.here(), {
      nodeKind: 'TopLevel',
      ...(instead === undefined ? {} : { suggestions: [instead] })
    })
  }
  return null
}

/** Parses a declaration that starts with a decorator. */
function decoratedDeclaration(p: Parser, prefix: Prefix, { name, args, strings }: Decorator): Declaration | null {
  const [mark] = prefix.decorators
  if (args !== null) p.report('E0001', `\`@${name.text}\` cannot have arguments`, name)
  if (strings.length > (name.text === 'v0' ? 1 : 0)) {
    p.report(
      'E0001',
      `\`@${name.text}\` ${name.text === 'v0' ? 'can have only one string' : 'cannot have a string'}`,
      name
    )
  }
  if (mark !== undefined && name.text.endsWith('index')) p.report('E0001', 'an index cannot have decorators', mark)
  switch (name.text) {
    case 'table':
    case 'collection':
      return parseTable(p, prefix, name.text satisfies Table['storage'])
    case 'index':
      return parseIndex(p, prefix, 'btree')
    case 'search_index':
    case 'vector_index':
      return parseIndex(p, prefix, name.text.slice(0, -'_index'.length) as Index['variant'])
    case 'v0':
      return v0Component(p, prefix, strings[0])
    case 'form':
      return parseForm(p, prefix)
    case 'component':
      return componentOf(p, prefix, name)
    case 'island':
      return p.kind === Kind.Fn || p.kind === Kind.Async
        ? parseFunction(p, withRole(prefix, name))
        : parseIsland(p, prefix)
    default:
      return appHook(p, prefix, name.text as AppHook['hook'])
  }
}

function componentOf(p: Parser, prefix: Prefix, name: Name): Declaration {
  if (p.kind !== Kind.Fn && p.kind !== Kind.Async) {
    p.accept(Kind.Component)
    return parseComponent(p, prefix)
  }
  const span = { start: prefix.start, end: p.tokens.end(p.position) }
  const suggestions = ['write `component Name(…) { view: … }`']
  if (p.options.allowComponentFunctions) {
    p.report('lint.legacy_component_fn', 'a component is written as a function', span, { suggestions })
  } else {
    p.report('E0001', 'a component cannot be a function', span, {
      suggestions: [...suggestions, 'to allow function components, set SVC_ALLOW_LEGACY_COMPONENT_FN=1']
    })
  }
  return parseFunction(p, withRole(prefix, name))
}

function parseConstant(p: Parser, { start, ...prefix }: Prefix): Const {
  if (p.kind === Kind.Let) {
    const statement = letStatement(p)
    return { kind: 'Const', start, end: p.lastEnd, ...prefix, statement }
  }
  const { start: from } = p
  p.advance()
  const name = p.expectName('the name of a constant')
  const type = p.accept(Kind.Colon) ? parseType(p) : null
  p.expect(Kind.Equal, 'before a value')
  const value = p.inPanic ? missing(p) : parseExpression(p)
  const end = p.lastEnd
  const pattern = { kind: 'BindingPattern', id: p.nextId++, start: name.start, end: name.end, name } as const
  const statement = { kind: 'Let', start: from, end, form: 'const', isMutable: false, pattern, type, value } as const
  return { kind: 'Const', start, end, ...prefix, statement }
}

/** Skips to a line that probably begins a declaration, or to the end of the file. */
function toNextDeclaration(p: Parser, before: number): void {
  if (p.position === before) p.skip()
  while (p.kind !== Kind.EndOfFile && !mayBegin(p)) p.skip()
  p.recovered()
}

function mayBegin(p: Parser): boolean {
  if (!p.tokens.newlineBefore(p.position)) return false
  switch (p.kind) {
    case Kind.Decorator:
    case Kind.Import:
    case Kind.Pub:
    case Kind.Extern:
    case Kind.Async:
    case Kind.Fn:
    case Kind.Type:
    case Kind.Actor:
    case Kind.Workflow:
    case Kind.Activity:
    case Kind.Agent:
    case Kind.Env:
    case Kind.Component:
    case Kind.Fragment:
    case Kind.Http:
      return p.kind === Kind.Decorator || p.isNameAhead || p.second === Kind.Fn
    case Kind.Let:
      return true
    default:
      return p.options.script || atWordDeclaration(p)
  }
}

function parseImport(p: Parser, { start, decorators }: Prefix): Import {
  const [decorator] = decorators
  if (decorator !== undefined) p.report('E0001', 'an import cannot have decorators', decorator)
  p.advance()
  const items: ImportItem[] = []
  do items.push(importItem(p))
  while (!p.inPanic && p.accept(Kind.Comma))
  return { kind: 'Import', start, end: p.lastEnd, items }
}

function importItem(p: Parser): ImportItem {
  const { start } = p
  if (p.atWord('rust') && p.second === Kind.Colon) return rustImport(p)
  if (p.atWord('react') && p.isNameAhead && !p.isWord(p.position + 1, 'as')) {
    p.advance()
    const name = p.takeName()
    if (!p.acceptWord('from')) p.failExpecting(['`from`'], 'before a module')
    const source = p.expectString('a module')
    return { kind: 'ReactImport', start, end: p.lastEnd, name, source }
  }
  if (!p.atName) {
    p.failExpecting(['the name of the import'], 'after `import`', {
      suggestions: ['write `import std.fs`, or `import components/chart as { Chart }`']
    })
  }
  const path = [p.expectName('a name')]
  const separator = p.kind === Kind.Slash ? '/' : '.'
  while ((p.kind === Kind.Dot || p.kind === Kind.Slash) && !p.inPanic) {
    p.advance()
    path.push(p.expectName('a name'))
  }
  const item = { kind: 'PathImport', start, path, separator } as const
  if (p.inPanic || !p.acceptWord('as')) return { ...item, alias: null, members: null, end: p.lastEnd }
  if (p.kind !== Kind.LeftBrace) {
    return { ...item, alias: p.expectName('a name'), members: null, end: p.lastEnd }
  }
  const members = list(p, Kind.RightBrace, importedMember)
  return { ...item, alias: null, members, end: p.lastEnd }
}

function importedMember(p: Parser): { readonly name: Name; readonly alias: Name | null } {
  const name = p.expectName('a name')
  return { name, alias: p.acceptWord('as') ? p.expectName('a name') : null }
}

function rustImport(p: Parser): ImportItem {
  const { start } = p
  p.advance()
  p.advance()
  const crate = p.expectName('the name of a crate')
  const metadata = p.kind === Kind.LeftParen ? list(p, Kind.RightParen, crateMetadata) : []
  const alias = p.acceptWord('as') ? p.expectName('a name') : null
  return { kind: 'RustImport', start, end: p.lastEnd, crate, metadata, alias }
}

function crateMetadata(p: Parser): { readonly key: Name; readonly value: StringLiteral } {
  const key = p.expectName('`version`, `path`, `git`, `rev` or `branch`')
  if (key.text !== '' && !METADATA.includes(key.text)) {
    p.report('E0001', `a crate has no \`${key.text}\`; expected ${METADATA.join(', ')}`, key)
  }
  p.expect(Kind.Colon, 'after it')
  return { key, value: p.expectString('a value') }
}

/** Adds the decorator that makes a function a component or an island. */
function withRole(prefix: Prefix, name: Name): Prefix {
  const { start, end } = name
  const role: Decorator = { kind: 'Decorator', start: start - 1, end, name, args: null, strings: [] }
  const decorators = [...prefix.decorators, role].sort((a, b) => a.start - b.start)
  return { ...prefix, decorators }
}
