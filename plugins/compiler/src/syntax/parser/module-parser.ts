import type { AppHook, Const, Declaration, Decorator, Index, Module, Table } from '../ast.ts'
import { decoratorUse } from '../decorators.ts'
import type { Name } from '../node.ts'
import { Kind, LAST_SOFT_KEYWORD } from '../token.ts'
import type { TokenList } from '../token-list.ts'
import { ImportParser } from './import-parser.ts'
import type { Prefix } from './type-declaration-parser.ts'

export interface ParserOptions {
  /** True if top-level statements are allowed next to declarations, as in a script. */
  readonly script: boolean
  /** True if `@component fn` is accepted; otherwise it is an error. */
  readonly allowComponentFunctions: boolean
}

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

/** Parses a file: imports, constants, and other declarations by their first word or decorator. */
export class ModuleParser extends ImportParser {
  readonly #options: ParserOptions

  constructor(tokens: TokenList, options: ParserOptions) {
    super(tokens)
    this.#options = options
  }

  module(): Module {
    const items: Declaration[] = []
    while (this.kind !== Kind.EndOfFile) {
      const before = this.position
      const item = this.#item()
      if (item !== null) items.push(item)
      if (this.inPanic || this.position === before) this.#toNextDeclaration(before)
    }
    return { kind: 'Module', start: 0, end: this.tokens.source.length, items, nodeCount: this.nextId }
  }

  #item(): Declaration | null {
    const { start } = this
    const decorators = this.decorators()
    if (this.inPanic) return null
    const structural = this.#structural(decorators)
    const marks = structural === undefined ? decorators : decorators.filter(each => each !== structural)
    const isPublic = this.kind === Kind.Pub
    const prefix = { start, decorators: marks, isPublic }
    if (isPublic && structural === undefined) return this.#public(prefix)
    return structural === undefined ? this.#declaration(prefix) : this.#decorated(prefix, structural)
  }

  #structural(decorators: readonly Decorator[]): Decorator | undefined {
    return decorators.find(({ name }) => decoratorUse(name.text) === 'declaration')
  }

  /** Parses a public declaration; `pub` is next. */
  #public(prefix: Prefix): Declaration | null {
    this.advance()
    const decorators = [...prefix.decorators, ...this.decorators()]
    const structural = this.#structural(decorators)
    const marks = decorators.filter(each => each !== structural)
    const isFunction = this.at(Kind.Fn) || this.at(Kind.Async)
    const isNamed = this.atWord('url') || this.atWord('state_machine') || this.atWord('partial')
    if (isFunction || this.at(Kind.Type) || (isNamed && this.#atWordDeclaration() && structural === undefined)) {
      const next = { ...prefix, decorators: marks }
      return structural === undefined ? this.#declaration(next) : this.#decorated(next, structural)
    }
    this.failExpecting(['`fn`', '`type`'], 'after `pub`')
    return null
  }

  /** True if a contextual keyword begins a declaration here. */
  #atWordDeclaration(): boolean {
    if (this.atWord('routes')) return this.second === Kind.LeftBrace
    if (this.atWord('url') || this.atWord('state_machine')) return this.second === Kind.TypeIdentifier
    if (this.atWord('environment')) return this.#isDeclared()
    if (this.atWord('partial')) return this.isWord(this.position + 1, 'state_machine')
    return this.atWord('const') && this.#isDeclared()
  }

  protected atOuterDeclaration(): boolean {
    const at = this.start
    if (at > 0 && !isLineEnd(this.tokens.source.charCodeAt(at - 1))) return false
    switch (this.kind) {
      case Kind.Fn:
      case Kind.Async:
      case Kind.Pub:
      case Kind.Decorator:
      case Kind.Import:
      case Kind.Extern:
        return this.kind !== Kind.Fn || this.isNameAhead()
      case Kind.Type:
      case Kind.Actor:
      case Kind.Workflow:
      case Kind.Activity:
      case Kind.Agent:
      case Kind.Component:
        return this.isNameAhead()
      default:
        return this.kind === Kind.Http && this.tokens.kind(this.position + 2) === Kind.String
    }
  }

  #declaration(prefix: Prefix): Declaration | null {
    switch (this.kind) {
      case Kind.Import:
        return this.imported(prefix)
      case Kind.Type:
        return this.typeDeclaration(prefix)
      case Kind.Fn:
      case Kind.Async:
        if (!this.#isScript() || this.kind === Kind.Async || this.isNameAhead()) return this.fn(prefix)
        break
      case Kind.Extern:
        return this.externFn(prefix)
      case Kind.Let:
        if (!this.#isScript()) return this.#constant(prefix)
        break
      case Kind.Http:
        if (this.#isDeclared()) return this.httpRoute(prefix)
        break
      case Kind.Actor:
        if (this.#isDeclared()) return this.actor(prefix)
        break
      case Kind.Workflow:
        if (this.#isDeclared()) return this.workflow(prefix)
        break
      case Kind.Activity:
        if (this.#isDeclared()) return this.activity(prefix)
        break
      case Kind.Agent:
        if (this.#isDeclared()) return this.agent(prefix)
        break
      case Kind.Env:
        if (this.#isDeclared()) return this.environment(prefix)
        break
      case Kind.Fragment:
        if (this.#isDeclared()) return this.fragment(prefix)
        break
      case Kind.Component:
        if (!this.#isDeclared()) break
        this.advance()
        return this.component(prefix)
      default:
        if (this.#atWordDeclaration()) return this.#wordDeclaration(prefix)
    }
    return this.#scriptStatement(prefix)
  }

  /** True if the next word is a contextual keyword that begins a declaration, rather than a variable. */
  #isDeclared(): boolean {
    return this.second <= LAST_SOFT_KEYWORD && this.isNameAhead()
  }

  #isScript(): boolean {
    return this.#options.script
  }

  #wordDeclaration(prefix: Prefix): Declaration {
    if (this.atWord('routes')) return this.routes(prefix)
    if (this.atWord('url')) return this.url(prefix)
    if (this.atWord('environment')) return this.environment(prefix)
    return this.atWord('const') ? this.#constant(prefix) : this.stateMachine(prefix)
  }

  /** Parses a statement of a script; reports an error in a module. */
  #scriptStatement({ start, decorators }: Prefix): Declaration | null {
    if (this.#isScript() && decorators.length === 0) {
      const statement = this.statement()
      this.accept(Kind.Comma)
      return { kind: 'ScriptStatement', start, end: this.lastEnd, statement }
    }
    const [decorator] = decorators
    if (decorator !== undefined) {
      this.failExpecting(['a declaration'], `after \`@${decorator.name.text}\``, { nodeKind: 'Declaration' })
    } else {
      this.fail(`${this.found()} cannot begin a declaration; expected ${STARTS.join(', ')}`, this.here(), {
        nodeKind: 'TopLevel'
      })
    }
    return null
  }

  /** Parses a declaration that starts with a decorator. */
  #decorated(prefix: Prefix, { name, args, strings }: Decorator): Declaration | null {
    const [mark] = prefix.decorators
    if (args !== null) this.report('E0001', `\`@${name.text}\` cannot have arguments`, name)
    if (strings.length > (name.text === 'v0' ? 1 : 0)) {
      this.report(
        'E0001',
        `\`@${name.text}\` ${name.text === 'v0' ? 'can have only one string' : 'cannot have a string'}`,
        name
      )
    }
    if (mark !== undefined && name.text.endsWith('index')) this.report('E0001', 'an index cannot have decorators', mark)
    switch (name.text) {
      case 'table':
      case 'collection':
        return this.table(prefix, name.text satisfies Table['storage'])
      case 'index':
        return this.index(prefix, 'btree')
      case 'search_index':
      case 'vector_index':
        return this.index(prefix, name.text.slice(0, -'_index'.length) as Index['variant'])
      case 'v0':
        return this.v0(prefix, strings[0])
      case 'form':
        return this.form(prefix)
      case 'component':
        return this.#componentOf(prefix, name)
      case 'island':
        return this.kind === Kind.Fn || this.kind === Kind.Async ? this.fn(withRole(prefix, name)) : this.island(prefix)
      default:
        return this.appHook(prefix, name.text as AppHook['hook'])
    }
  }

  #componentOf(prefix: Prefix, name: Name): Declaration {
    if (this.kind !== Kind.Fn && this.kind !== Kind.Async) {
      this.accept(Kind.Component)
      return this.component(prefix)
    }
    const span = { start: prefix.start, end: this.tokens.end(this.position) }
    const suggestions = ['write `component Name(…) { view: … }`']
    if (this.#options.allowComponentFunctions) {
      this.report('lint.legacy_component_fn', 'a component is written as a function', span, { suggestions })
    } else {
      this.report('E0001', 'a component cannot be a function', span, {
        suggestions: [...suggestions, 'to allow function components, set SVC_ALLOW_LEGACY_COMPONENT_FN=1']
      })
    }
    return this.fn(withRole(prefix, name))
  }

  #constant({ start, ...prefix }: Prefix): Const {
    if (this.kind === Kind.Let) {
      const statement = this.letStatement()
      return { kind: 'Const', start, end: this.lastEnd, ...prefix, statement }
    }
    const { start: from } = this
    this.advance()
    const name = this.expectName('the name of a constant')
    const type = this.accept(Kind.Colon) ? this.type() : null
    this.expect(Kind.Equal, 'before a value')
    const value = this.inPanic ? this.missing() : this.expression()
    const end = this.lastEnd
    const pattern = { kind: 'BindingPattern', id: this.nextId++, start: name.start, end: name.end, name } as const
    const statement = { kind: 'Let', start: from, end, form: 'const', isMutable: false, pattern, type, value } as const
    return { kind: 'Const', start, end, ...prefix, statement }
  }

  /** Skips to a line that probably begins a declaration, or to the end of the file. */
  #toNextDeclaration(before: number): void {
    if (this.position === before) this.skip()
    while (this.kind !== Kind.EndOfFile && !this.#mayBegin()) this.skip()
    this.recovered()
  }

  #mayBegin(): boolean {
    if (!this.tokens.newlineBefore(this.position)) return false
    switch (this.kind) {
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
        return this.kind === Kind.Decorator || this.isNameAhead() || this.second === Kind.Fn
      case Kind.Let:
        return true
      default:
        return this.#options.script || this.#atWordDeclaration()
    }
  }
}

/** Adds the decorator that makes a function a component or an island. */
function withRole(prefix: Prefix, name: Name): Prefix {
  const { start, end } = name
  const role: Decorator = { kind: 'Decorator', start: start - 1, end, name, args: null, strings: [] }
  const decorators = [...prefix.decorators, role].sort((a, b) => a.start - b.start)
  return { ...prefix, decorators }
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13
}
