import type { Decorator, DecoratorArgument, Field } from '../ast.ts'
import type { Argument } from '../ast-expressions.ts'
import { canonicalDecorator, DECORATORS, decoratorUse } from '../decorators.ts'
import { nearName } from '../near-name.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { StatementParser } from './statement-parser.ts'

const RETIRED = {
  context: ['lint.retired_context', 'pass the value as a parameter, or store it in `state` of an enclosing component'],
  hook: ['lint.retired_hook_fn', 'write `state`, `derived` and `effect` in the component'],
  page: ['lint.retired_page_decl', 'write a component and an entry of `routes`'],
  provider: ['lint.retired_provider_fn', 'pass the value as a parameter']
} as const

const KINDS = ['query', 'mutation', 'server']

/** Parses decorators, and fields with decorators. */
export abstract class DecoratorParser extends StatementParser {
  protected decorators(): Decorator[] {
    const decorators: Decorator[] = []
    while (this.kind === Kind.Decorator && !this.inPanic) decorators.push(this.#decorator())
    return decorators
  }

  #decorator(): Decorator {
    const { start } = this
    const written = this.#name()
    const args = this.kind === Kind.LeftParen && !this.tokens.newlineBefore(this.position) ? this.#args() : null
    const strings = []
    while (this.kind === Kind.String) strings.push(this.takeString())
    const decorator = { kind: 'Decorator', start, end: this.lastEnd, name: written, args, strings } as const
    if (written.text === 'endpoint') return this.#endpoint(decorator)
    return { ...decorator, name: { ...written, text: canonicalDecorator(written.text) } }
  }

  #name(): Name {
    const span = this.here()
    const text = this.text.slice(1)
    const use = decoratorUse(text)
    if (use === undefined) this.#unknown(text, span)
    if (use === 'retired') this.#retired(text, span)
    this.advance()
    return { start: span.start + 1, end: span.end, text }
  }

  #unknown(text: string, span: { start: number; end: number }): void {
    const near = nearName(text, DECORATORS)
    this.report('parse.unknown_decorator', `there is no decorator \`@${text}\``, span, {
      ...(near === undefined
        ? {}
        : {
            suggestions: [`did you mean \`@${near}\`?`],
            fixes: [{ label: `write @${near}`, span, replacement: `@${near}` }]
          })
    })
  }

  #retired(text: string, span: { start: number; end: number }): void {
    if (text === 'get') {
      const path = this.tokens.text(this.position + 2)
      const known = this.second === Kind.LeftParen && this.tokens.kind(this.position + 2) === Kind.String
      const route = `http get ${known ? path : '"/path"'} to T { … }`
      this.report('parse.deprecated_get', '`@get` is not supported: declare routes with `http`', span, {
        suggestions: [`write \`${route}\` instead of the decorator and the function`],
        ...(known ? { fixes: [this.#getFix(path)] } : {})
      })
      return
    }
    const [code, instead] = RETIRED[text as keyof typeof RETIRED]
    this.report(code, `\`@${text}\` is no longer part of the language`, span, { suggestions: [instead] })
  }

  /**
   * Returns the fix that turns `@get("/p") fn name(…)` into `http get "/p"(…)`. If no function follows, the fix
   * replaces only the decorator.
   */
  #getFix(path: string): { label: string; span: { start: number; end: number }; replacement: string } {
    const close = this.tokens.partner(this.position + 1)
    let last = close === -1 ? this.position + 2 : close
    if (this.tokens.kind(last + 1) === Kind.Fn) last += 2
    const span = { start: this.start, end: this.tokens.end(last) }
    return { label: `declare the route ${path}`, span, replacement: `http get ${path}` }
  }

  #args(): DecoratorArgument[] {
    return this.list(Kind.RightParen, () => decoratorArgument(this.argument(Kind.Colon)))
  }

  /** Converts `@endpoint(kind: query, …)` to `@query(…)`. */
  #endpoint(decorator: Decorator): Decorator {
    const isKind = ({ name }: DecoratorArgument): boolean => name?.text === 'kind'
    const args = decorator.args ?? []
    const value = args.find(isKind)?.value
    const kind = value?.kind === 'Identifier' ? value.name : ''
    if (!KINDS.includes(kind)) {
      this.report('E0001', '`@endpoint` requires a kind: query, mutation or server', value ?? decorator, {
        suggestions: ['write `@query`, `@mutation` or `@server`']
      })
    }
    const rest = args.filter(argument => !isKind(argument))
    const text = KINDS.includes(kind) ? kind : 'server'
    return { ...decorator, name: { ...decorator.name, text }, args: rest.length === 0 ? null : rest }
  }

  /** Parses fields in braces. The opening brace is next. Fields are separated by commas, line breaks or spaces. */
  protected fields(mayBeOptional: boolean): Field[] {
    return this.members('fields', () => this.field(mayBeOptional))
  }

  protected field(mayBeOptional: boolean): Field {
    const { start } = this
    const decorators = this.decorators()
    const name = this.expectName('the name of a field')
    const isOptional = mayBeOptional && this.accept(Kind.Question)
    this.expect(Kind.Colon, 'after the name of a field')
    const type = this.inPanic ? this.noType() : this.type()
    const value = this.accept(Kind.Equal) ? this.expression() : null
    return { kind: 'Field', start, end: this.lastEnd, decorators, name, isOptional, type, value }
  }

  /** Parses items in braces. */
  protected members<A>(description: string, item: () => A): A[] {
    const items: A[] = []
    const opening = this.position
    if (!this.expect(Kind.LeftBrace, `before ${description}`)) return items
    if (!this.enter()) return items
    while (this.kind !== Kind.RightBrace && this.kind !== Kind.EndOfFile) {
      if (this.tokens.newlineBefore(this.position) && this.atOuterDeclaration()) {
        this.missesBrace(opening)
        this.leave()
        return items
      }
      const before = this.position
      items.push(item())
      this.accept(Kind.Comma)
      if (this.inPanic || this.position === before) this.toNextLine(before)
    }
    this.leave()
    this.closeBrace(opening)
    return items
  }
}

function decoratorArgument({ start, end, name, value }: Argument): DecoratorArgument {
  return { kind: 'DecoratorArgument', start, end, name, value }
}
