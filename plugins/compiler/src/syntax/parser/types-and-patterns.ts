import type { LiteralPattern, Pattern } from '../ast-statements.ts'
import type { NamedType, Type } from '../ast-types.ts'
import type { Name } from '../node.ts'
import { describeKind, Kind } from '../token.ts'
import { list } from './lists.ts'
import type { Parser } from './parser.ts'

export function parseType(p: Parser): Type {
  if (!p.enter()) return noType(p)
  const { start } = p
  let type = plainType(p)
  if (p.kind === Kind.Question && !p.onNewLine) {
    p.advance()
    type = { kind: 'OptionalType', start, end: p.lastEnd, inner: type }
  }
  p.leave()
  return type
}

/** Parses the result type `to T` or `-> T`, if present. */
export function resultType(p: Parser): Type | null {
  if (p.kind !== Kind.To && p.kind !== Kind.Arrow) return null
  p.advance()
  return parseType(p)
}

export function noType(p: Parser): Type {
  return { kind: 'InferType', start: p.lastEnd, end: p.lastEnd }
}

function plainType(p: Parser): Type {
  const { start } = p
  switch (p.kind) {
    case Kind.Underscore:
      p.advance()
      return { kind: 'InferType', start, end: p.lastEnd }
    case Kind.LeftParen:
      return tupleType(p)
    case Kind.LeftBracket:
      return listType(p)
    case Kind.Fn: {
      p.advance()
      if (!p.at(Kind.LeftParen)) {
        p.failExpecting([describeKind(Kind.LeftParen)], 'after `fn` of a type')
        return noType(p)
      }
      const params = list(p, Kind.RightParen, parseType)
      const result = resultType(p)
      return { kind: 'FunctionType', start, end: p.lastEnd, params, result }
    }
    default:
      if (p.atName) return namedType(p)
      p.failExpecting(['a type'], '')
      return noType(p)
  }
}

function tupleType(p: Parser): Type {
  const { start } = p
  const items = list(p, Kind.RightParen, parseType)
  const end = p.lastEnd
  if (items.length === 0) return { kind: 'UnitType', start, end }
  const [only] = items
  return items.length === 1 && only !== undefined ? only : { kind: 'TupleType', start, end, items }
}

function listType(p: Parser): NamedType {
  const { start } = p
  p.advance()
  const item = parseType(p)
  p.expect(Kind.RightBracket, 'after the type of a list')
  return {
    kind: 'NamedType',
    start,
    end: p.lastEnd,
    path: [{ start, end: start + 1, text: 'List' }],
    args: [item]
  }
}

function namedType(p: Parser): Type {
  const { start } = p
  const first = p.takeName()
  if (first.text === 'dec') return { kind: 'DecimalType', start, end: first.end }
  const path: Name[] = [first]
  while (p.kind === Kind.Dot && !p.onNewLine) {
    p.advance()
    path.push(p.expectName('a name'))
  }
  const args = p.onNewLine ? [] : typeArguments(p)
  return { kind: 'NamedType', start, end: p.lastEnd, path, args }
}

function typeArguments(p: Parser): Type[] {
  if (p.kind === Kind.LeftBracket) return list(p, Kind.RightBracket, typeArgument)
  return p.kind === Kind.Less ? list(p, Kind.Greater, typeArgument) : []
}

function typeArgument(p: Parser): Type {
  if (p.kind !== Kind.Int) return parseType(p)
  const { start, text } = p
  p.advance()
  return { kind: 'SizeType', start, end: p.lastEnd, size: Number(text) }
}

export function parsePattern(p: Parser): Pattern {
  if (!p.enter()) return noPattern(p)
  const pattern = plainPattern(p)
  p.leave()
  return pattern
}

function plainPattern(p: Parser): Pattern {
  const { start } = p
  switch (p.kind) {
    case Kind.Underscore:
      p.advance()
      return { kind: 'WildcardPattern', id: p.nextId++, start, end: p.lastEnd }
    case Kind.LeftParen: {
      const items = list(p, Kind.RightParen, parsePattern)
      const [only] = items
      if (items.length === 1 && only !== undefined) return only
      return { kind: 'TuplePattern', id: p.nextId++, start, end: p.lastEnd, items }
    }
    case Kind.TypeIdentifier: {
      const name = p.takeName()
      const args = p.at(Kind.LeftParen) && !p.onNewLine ? list(p, Kind.RightParen, parsePattern) : null
      return { kind: 'ConstructorPattern', id: p.nextId++, start, end: p.lastEnd, name, args }
    }
    case Kind.Minus: {
      p.advance()
      if (p.at(Kind.Int) || p.at(Kind.Float) || p.at(Kind.Decimal)) {
        return literalPattern(p, start, true)
      }
      p.failExpecting(['a number'], 'after `-`')
      return noPattern(p)
    }
    case Kind.Int:
    case Kind.Float:
    case Kind.Decimal:
    case Kind.String:
    case Kind.True:
    case Kind.False:
      return literalPattern(p, start, false)
    default:
      if (p.atName) {
        const name = p.takeName()
        return { kind: 'BindingPattern', id: p.nextId++, start, end: name.end, name }
      }
      p.failExpecting(['a pattern'], '')
      return noPattern(p)
  }
}

function literalPattern(p: Parser, start: number, isNegative: boolean): LiteralPattern {
  const value = parseLiteral(p, isNegative)
  return { kind: 'LiteralPattern', id: p.nextId++, start, end: value.end, isNegative, value }
}

/** Parses the next literal: a number, a string, `true` or `false`. */
export function parseLiteral(p: Parser, isNegative: boolean): LiteralPattern['value'] {
  const { start, kind } = p
  if (kind === Kind.String) return p.takeString()
  const { text } = p
  const end = p.tokens.end(p.position)
  if (kind === Kind.Int) checkRange(p, text, isNegative)
  if (kind === Kind.Float && !Number.isFinite(Number(text))) {
    p.report('E0001', 'this number exceeds the maximum float', p.here(), {
      suggestions: ['use a dec for larger numbers']
    })
  }
  p.advance()
  if (kind === Kind.Int) return { kind: 'Int', id: p.nextId++, start, end, digits: text }
  if (kind === Kind.Float) return { kind: 'Float', id: p.nextId++, start, end, digits: text }
  if (kind === Kind.Decimal) return { kind: 'Decimal', id: p.nextId++, start, end, digits: text.slice(0, -3) }
  return { kind: 'Bool', id: p.nextId++, start, end, value: kind === Kind.True }
}

function checkRange(p: Parser, digits: string, isNegative: boolean): void {
  if (digits.length < 19) return
  const significant = digits.replace(/^0+/, '')
  const limit = isNegative ? '9223372036854775808' : '9223372036854775807'
  if (significant.length < 19 || (significant.length === 19 && significant <= limit)) return
  p.report('E0001', `${isNegative ? '-' : ''}${digits} does not fit into an int of 64 bits`, p.here(), {
    suggestions: [`the ${isNegative ? 'minimum int is -' : 'maximum int is '}${limit}; use a dec for larger numbers`]
  })
}

function noPattern(p: Parser): Pattern {
  return { kind: 'WildcardPattern', id: p.nextId++, start: p.lastEnd, end: p.lastEnd }
}
