import type {
  AppHook,
  Component,
  ComponentMember,
  Form,
  FormField,
  FormSubmit,
  Fragment,
  Island,
  MachineState,
  RouteEntry,
  RouteFallback,
  Routes,
  StateMachine,
  StyleBlock,
  StyleRule,
  Transition,
  UrlDeclaration,
  UrlEntry,
  V0Component
} from '../ast.ts'
import type { Expression } from '../ast-expressions.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { isNameKind } from './cursor.ts'
import { FunctionParser } from './function-parser.ts'
import type { Prefix } from './type-declaration-parser.ts'

/** Parses user interface declarations: components, islands, client routes, forms, state machines. */
export abstract class InterfaceParser extends FunctionParser {
  /** Parses a component; its name is next. */
  protected component({ start, ...prefix }: Prefix): Component {
    const name = this.expectTypeName('a component')
    const params = this.inPanic ? [] : this.params()
    const { start: opening } = this
    const members = this.inPanic ? [] : this.members('the members of a component', () => this.#member())
    const body = { start: opening, end: Math.max(opening, this.lastEnd) }
    const styles: StyleBlock[] = []
    while (!this.inPanic && this.second === Kind.LeftBrace && (this.atWord('style') || this.atWord('raw_css'))) {
      styles.push(this.#styleBlock())
    }
    return { kind: 'Component', start, end: this.lastEnd, ...prefix, name, params, members, body, styles }
  }

  #member(): ComponentMember {
    const { start, kind, second } = this
    if ((kind === Kind.State || kind === Kind.Derived) && this.#namesValue()) {
      this.advance()
      const name = this.expectName('a name')
      const type = this.accept(Kind.Colon) ? this.type() : null
      this.expect(Kind.Equal, 'before a value')
      const value = this.inPanic ? this.missing() : this.expression()
      return { kind: kind === Kind.State ? 'State' : 'Derived', start, end: this.lastEnd, name, type, value }
    }
    if (kind === Kind.Effect && (second === Kind.Colon || this.isWord(this.position + 1, 'depends_on'))) {
      return this.#effect()
    }
    if (kind === Kind.On && (second === Kind.Mount || second === Kind.Cleanup)) {
      this.advance()
      return this.#lifecycle(start)
    }
    if ((kind === Kind.Mount || kind === Kind.Cleanup) && second === Kind.Colon) return this.#lifecycle(start)
    if (kind === Kind.View && second !== Kind.Equal && second !== Kind.Dot && second !== Kind.LeftParen) {
      this.advance()
      const { start: at } = this
      if (!this.accept(Kind.Colon)) {
        this.report('E0001', '`view` requires a colon before the element', this.here(), {
          fixes: [{ label: 'write `view:`', span: { start: at, end: at }, replacement: ': ' }]
        })
      }
      const root = this.expression()
      return { kind: 'View', start, end: this.lastEnd, root }
    }
    return this.statement()
  }

  /** True if `state` or `derived` begins a declaration, rather than being the name of a variable. */
  #namesValue(): boolean {
    const after = this.tokens.kind(this.position + 2)
    return this.isNameAhead() && (after === Kind.Equal || after === Kind.Colon)
  }

  /** True if a name follows the next token on its line. */
  protected isNameAhead(): boolean {
    return isNameKind(this.second) && !this.tokens.newlineBefore(this.position + 1)
  }

  #effect(): ComponentMember {
    const { start } = this
    this.advance()
    let dependencies: Name[] | null = null
    if (this.acceptWord('depends_on')) {
      if (this.kind === Kind.LeftParen) dependencies = this.list(Kind.RightParen, () => this.expectName('a name'))
      else this.failExpecting(['`(`'], 'after `depends_on`')
    }
    this.expect(Kind.Colon, 'before the body of an effect')
    const body = this.inPanic ? this.missing() : this.body()
    return { kind: 'Effect', start, end: this.lastEnd, dependencies, body }
  }

  #lifecycle(start: number): ComponentMember {
    const moment = this.kind === Kind.Mount ? 'mount' : 'cleanup'
    this.advance()
    this.expect(Kind.Colon, `after \`${moment}\``)
    const body = this.inPanic ? this.missing() : this.body()
    return { kind: 'Lifecycle', start, end: this.lastEnd, moment, body }
  }

  #styleBlock(): StyleBlock {
    const { start } = this
    const form = this.atWord('style') ? 'style' : 'raw_css'
    this.advance()
    const rules = this.members('rules', () => this.#styleRule())
    return { kind: 'StyleBlock', start, end: this.lastEnd, form, rules }
  }

  #styleRule(): StyleRule {
    const { start } = this
    this.expect(Kind.Dot, 'before the name of a class')
    const className = this.inPanic ? this.noName() : this.#dashedName('the name of a class')
    const properties = this.inPanic ? [] : this.members('properties', () => this.#styleProperty())
    return { kind: 'StyleRule', start, end: this.lastEnd, className, properties }
  }

  #styleProperty(): StyleRule['properties'][number] {
    const { start } = this
    const name = this.#dashedName('a property')
    this.expect(Kind.Colon, 'after a property')
    const value = this.expectString('the value of a property')
    return { kind: 'StyleProperty', start, end: this.lastEnd, name, value }
  }

  /** Reads a CSS name: words joined by dashes without spaces. */
  #dashedName(description: string): Name {
    const { start, end, text } = this.expectName(description)
    let last = end
    while (this.kind === Kind.Minus && this.start === last && this.isNameAhead()) {
      this.advance()
      last = this.takeName().end
    }
    return { start, end: last, text: last === end ? text : this.tokens.source.slice(start, last) }
  }

  /** Parses an island; its name is next. */
  protected island({ start, ...prefix }: Prefix): Island {
    const name = this.expectTypeName('an island')
    const props = this.inPanic ? [] : this.fields(true)
    return { kind: 'Island', start, end: this.lastEnd, ...prefix, name, props }
  }

  /** Parses a v0 component; `from` or its name is next. `source` is the string after the decorator. */
  protected v0({ start, ...prefix }: Prefix, source: V0Component['source'] | undefined): V0Component {
    const fromFile = source === undefined && this.acceptWord('from')
    const sourceString =
      source ?? this.expectString(fromFile ? 'the file of the component' : 'the component of v0, or `from`,')
    const name = this.inPanic ? this.noName() : this.expectTypeName('a component')
    const props = this.inPanic ? [] : this.fields(true)
    return { kind: 'V0', start, end: this.lastEnd, ...prefix, source: sourceString, fromFile, name, props }
  }

  /** Parses client routes; `routes` is next. */
  protected routes({ start, ...prefix }: Prefix): Routes {
    this.advance()
    const entries = this.members('routes', () => (this.kind === Kind.String ? this.#route() : this.#fallback()))
    return { kind: 'Routes', start, end: this.lastEnd, ...prefix, entries }
  }

  #fallback(): RouteFallback {
    const { start } = this
    const moment = this.atWord('error') ? 'error' : 'not_found'
    if (this.atWord(moment)) this.advance()
    else this.failExpecting(['a path', '`not_found`', '`error`'], 'in `routes`')
    this.expect(Kind.Colon, `after \`${moment}\``)
    const component = this.inPanic ? this.noName() : this.expectTypeName('a component')
    return { kind: 'RouteFallback', start, end: this.lastEnd, moment, component }
  }

  #route(): RouteEntry {
    const { start } = this
    const path = this.expectString('a path')
    if (this.kind !== Kind.To && !this.inPanic) {
      const at = { start: path.end, end: path.end }
      this.report('E0001', 'an entry of `routes` requires `to` between the path and the component', this.here(), {
        ...(this.kind === Kind.TypeIdentifier ? { fixes: [{ label: 'write `to`', span: at, replacement: ' to' }] } : {})
      })
      if (this.kind !== Kind.TypeIdentifier) this.inPanic = true
    } else this.accept(Kind.To)
    const component = this.inPanic ? this.noName() : this.expectTypeName('a component')
    let options: RouteEntry['options'] = []
    if (!this.inPanic && this.accept(Kind.With)) {
      options =
        this.kind === Kind.LeftParen ? this.list(Kind.RightParen, () => this.#routeOption()) : [this.#routeOption()]
    }
    const hasChildren = this.kind === Kind.LeftBrace && !this.inPanic
    const children = hasChildren ? this.members('routes', () => this.#route()) : []
    return { kind: 'RouteEntry', start, end: this.lastEnd, path, component, options, children }
  }

  #routeOption(): RouteEntry['options'][number] {
    const key = this.expectName('`loader`, `pending` or `error`')
    this.expect(Kind.Colon, 'after an option of a route')
    return { key, value: this.inPanic ? this.noName() : this.expectName('a name') }
  }

  /** Parses a `url` declaration; `url` is next. */
  protected url({ start, ...prefix }: Prefix): UrlDeclaration {
    this.advance()
    const name = this.expectTypeName('a `url` declaration')
    const entries = this.inPanic ? [] : this.members('urls', () => this.#urlEntry())
    return { kind: 'Url', start, end: this.lastEnd, ...prefix, name, entries }
  }

  #urlEntry(): UrlEntry {
    const { start } = this
    const name = this.expectName('the name of a url')
    const params = this.kind === Kind.LeftParen ? this.list(Kind.RightParen, () => this.#urlParam()) : []
    return { kind: 'UrlEntry', start, end: this.lastEnd, name, params }
  }

  #urlParam(): UrlEntry['params'][number] {
    const { start } = this
    const isOptional = this.accept(Kind.Question)
    const name = this.expectName('the name of a parameter')
    this.expect(Kind.Colon, 'after the name of a parameter')
    const type = this.inPanic ? this.noType() : this.type()
    return { kind: 'UrlParam', start, end: this.lastEnd, isOptional, name, type }
  }

  /** Parses a state machine; `state_machine` or `partial` is next. */
  protected stateMachine({ start, ...prefix }: Prefix): StateMachine {
    const isPartial = this.acceptWord('partial')
    if (!this.acceptWord('state_machine')) this.failExpecting(['`state_machine`'], 'after `partial`')
    const name = this.inPanic ? this.noName() : this.expectTypeName('a state machine')
    const items = this.inPanic ? [] : this.members('states', () => this.#machineItem())
    return { kind: 'StateMachine', start, end: this.lastEnd, ...prefix, isPartial, name, items }
  }

  #machineItem(): MachineState | Transition {
    const { start } = this
    if (this.kind === Kind.On) return this.#transition()
    const isTerminal = this.acceptWord('terminal')
    if (!this.accept(Kind.State)) this.failExpecting(['`state`', '`terminal`', '`on`'], 'in a state machine')
    const name = this.inPanic ? this.noName() : this.expectTypeName('a state')
    const params = this.kind === Kind.LeftParen ? this.params() : []
    return { kind: 'MachineState', start, end: this.lastEnd, isTerminal, name, params }
  }

  #transition(): Transition {
    const { start } = this
    this.advance()
    const event = this.expectName('the name of an event')
    const params = this.kind === Kind.LeftParen ? this.params() : []
    if (!this.inPanic && !this.acceptWord('from')) this.failExpecting(['`from`'], 'before the source state')
    const from = this.inPanic ? this.noName() : this.expectName('a state, `any` or `_`')
    const fromArgs = this.#arguments()
    this.expect(Kind.Arrow, 'before the target state')
    const target = this.inPanic ? this.noName() : this.expectTypeName('a state')
    const targetArgs = this.#arguments()
    return { kind: 'Transition', start, end: this.lastEnd, event, params, from, fromArgs, target, targetArgs }
  }

  #arguments(): Expression[] | null {
    if (this.kind !== Kind.LeftParen || this.onNewLine) return null
    return this.list(Kind.RightParen, () => this.expression())
  }

  /** Parses a fragment; `fragment` is next. */
  protected fragment({ start, ...prefix }: Prefix): Fragment {
    this.advance()
    const name = this.expectTypeName('a fragment')
    const params = this.inPanic ? [] : this.params()
    const [body = this.missing(), second] = this.inPanic
      ? []
      : this.members('the view of a fragment', () => this.expression())
    if (second !== undefined) this.report('E0001', 'a fragment must be a single expression', second)
    return { kind: 'Fragment', start, end: this.lastEnd, ...prefix, name, params, body }
  }

  /** Parses a form; its name is next. */
  protected form({ start, ...prefix }: Prefix): Form {
    const name = this.expectTypeName('a form')
    const items = this.inPanic ? [] : this.members('fields', () => this.#formItem())
    return { kind: 'Form', start, end: this.lastEnd, ...prefix, name, items }
  }

  #formItem(): FormField | FormSubmit {
    const { start } = this
    if (this.acceptWord('on_submit')) {
      this.expect(Kind.Colon, 'after `on_submit`')
      const handler = this.inPanic ? this.noName() : this.expectName('the name of a function')
      return { kind: 'FormSubmit', start, end: this.lastEnd, handler }
    }
    if (!this.acceptWord('field')) this.failExpecting(['`field`', '`on_submit`'], 'in a form')
    const name = this.inPanic ? this.noName() : this.expectName('the name of a field')
    this.expect(Kind.Colon, 'after the name of a field')
    const type = this.inPanic ? this.noType() : this.type()
    const rules: FormField['rules'][number][] = []
    while (!this.inPanic && this.atName && !this.onNewLine && this.second !== Kind.Colon) {
      rules.push({ name: this.takeName(), args: this.#arguments() })
    }
    return { kind: 'FormField', start, end: this.lastEnd, name, type, rules }
  }

  /** Parses an app hook; its name or the opening brace is next. */
  protected appHook({ start, ...prefix }: Prefix, hook: AppHook['hook']): AppHook {
    const name = this.atName ? this.takeName() : null
    const entries = this.members('entries', () => {
      const { start: from } = this
      const key = this.expectName('the name of an entry')
      this.expect(Kind.Colon, 'after the name of an entry')
      const value = this.inPanic ? this.missing() : this.expression()
      return { kind: 'AppHookEntry', start: from, end: this.lastEnd, name: key, value } as const
    })
    return { kind: 'AppHook', start, end: this.lastEnd, ...prefix, hook, name, entries }
  }
}
