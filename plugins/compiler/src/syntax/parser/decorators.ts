import type { Decorator, DecoratorArgument, Field } from '../ast.ts'
import { canonicalDecorator, DECORATORS, decoratorUse } from '../decorators.ts'
import { nearName } from '../near-name.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { parseArgument, parseExpression } from './body.ts'
import { list, parseMembers } from './lists.ts'
import type { Parser } from './parser.ts'
import { noType, parseType } from './types-and-patterns.ts'

const RETIRED = {
  context: ['lint.retired_context', 'pass the value as a parameter, or store it in `state` of an enclosing component'],
  hook: ['lint.retired_hook_fn', 'write `state`, `derived` and `effect` in the component'],
  page: ['lint.retired_page_decl', 'write a component and an entry of `routes`'],
  provider: ['lint.retired_provider_fn', 'pass the value as a parameter']
} as const

const KINDS = ['query', 'mutation', 'server']

export function parseDecorators(p: Parser): Decorator[] {
  const decorators: Decorator[] = []
  while (p.kind === Kind.Decorator && !p.inPanic) decorators.push(decorator(p))
  return decorators
}

function decorator(p: Parser): Decorator {
  const { start } = p
  const written = decoratorName(p)
  const args = p.kind === Kind.LeftParen && !p.tokens.newlineBefore(p.position) ? decoratorArguments(p) : null
  const strings = []
  while (p.kind === Kind.String) strings.push(p.takeString())
  const decorator = { kind: 'Decorator', start, end: p.lastEnd, name: written, args, strings } as const
  if (written.text === 'endpoint') return endpointRole(p, decorator)
  return { ...decorator, name: { ...written, text: canonicalDecorator(written.text) } }
}

function decoratorName(p: Parser): Name {
  const span = p.here()
  const text = p.text.slice(1)
  const use = decoratorUse(text)
  if (use === undefined) unknownDecorator(p, text, span)
  if (use === 'retired') retiredDecorator(p, text, span)
  p.advance()
  return { start: span.start + 1, end: span.end, text }
}

function unknownDecorator(p: Parser, text: string, span: { start: number; end: number }): void {
  const near = nearName(text, DECORATORS)
  p.report('parse.unknown_decorator', `there is no decorator \`@${text}\``, span, {
    ...(near === undefined
      ? {}
      : {
          suggestions: [`did you mean \`@${near}\`?`],
          fixes: [{ label: `write @${near}`, span, replacement: `@${near}` }]
        })
  })
}

function retiredDecorator(p: Parser, text: string, span: { start: number; end: number }): void {
  if (text === 'get') {
    const path = p.tokens.text(p.position + 2)
    const known = p.second === Kind.LeftParen && p.tokens.kind(p.position + 2) === Kind.String
    const route = `http get ${known ? path : '"/path"'} to T { … }`
    p.report('parse.deprecated_get', '`@get` is not supported: declare routes with `http`', span, {
      suggestions: [`write \`${route}\` instead of the decorator and the function`],
      ...(known ? { fixes: [getFix(p, path)] } : {})
    })
    return
  }
  const [code, instead] = RETIRED[text as keyof typeof RETIRED]
  p.report(code, `\`@${text}\` is no longer part of the language`, span, { suggestions: [instead] })
}

/**
 * Returns the fix that turns `@get("/p") fn name(…)` into `http get "/p"(…)`. If no function follows, the fix
 * replaces only the decorator.
 */
function getFix(p: Parser, path: string): { label: string; span: { start: number; end: number }; replacement: string } {
  const close = p.tokens.partner(p.position + 1)
  let last = close === -1 ? p.position + 2 : close
  if (p.tokens.kind(last + 1) === Kind.Fn) last += 2
  const span = { start: p.start, end: p.tokens.end(last) }
  return { label: `declare the route ${path}`, span, replacement: `http get ${path}` }
}

function decoratorArguments(p: Parser): DecoratorArgument[] {
  return list(p, Kind.RightParen, decoratorArgument)
}

function decoratorArgument(p: Parser): DecoratorArgument {
  if (atWordArgument(p)) {
    const { start } = p
    const word = p.takeName()
    const value = { kind: 'Identifier', id: p.nextId++, start, end: word.end, name: word.text } as const
    return { kind: 'DecoratorArgument', start, end: word.end, name: null, value }
  }
  const { start, end, name, value } = parseArgument(p, Kind.Colon)
  return { kind: 'DecoratorArgument', start, end, name, value }
}

/** True if the next argument is one word. It may be a keyword, such as the effect `spawn`. */
function atWordArgument(p: Parser): boolean {
  const isWord = p.atName && p.kind !== Kind.True && p.kind !== Kind.False
  return isWord && (p.second === Kind.Comma || p.second === Kind.RightParen)
}

/** Converts `@endpoint(kind: query, …)` to `@query(…)`. */
function endpointRole(p: Parser, decorator: Decorator): Decorator {
  const isKind = ({ name }: DecoratorArgument): boolean => name?.text === 'kind'
  const args = decorator.args ?? []
  const value = args.find(isKind)?.value
  const kind = value?.kind === 'Identifier' ? value.name : ''
  if (!KINDS.includes(kind)) {
    p.report('E0001', '`@endpoint` requires a kind: query, mutation or server', value ?? decorator, {
      suggestions: ['write `@query`, `@mutation` or `@server`']
    })
  }
  const rest = args.filter(argument => !isKind(argument))
  const text = KINDS.includes(kind) ? kind : 'server'
  return { ...decorator, name: { ...decorator.name, text }, args: rest.length === 0 ? null : rest }
}

/** Parses fields in braces. The opening brace is next. Fields are separated by commas, line breaks or spaces. */
export function parseFields(p: Parser, mayBeOptional: boolean): Field[] {
  return parseMembers(p, 'fields', () => parseField(p, mayBeOptional))
}

export function parseField(p: Parser, mayBeOptional: boolean): Field {
  const { start } = p
  const decorators = parseDecorators(p)
  const name = p.expectName('the name of a field')
  const isOptional = mayBeOptional && p.accept(Kind.Question)
  p.expect(Kind.Colon, 'after the name of a field')
  const type = p.inPanic ? noType(p) : parseType(p)
  const value = p.accept(Kind.Equal) ? parseExpression(p) : null
  return { kind: 'Field', start, end: p.lastEnd, decorators, name, isOptional, type, value }
}
