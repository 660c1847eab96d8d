// toestub-ignore(arch/god_object) - expressions, statements and views are parsed by mutually recursive functions
import type { Param } from '../ast.ts'
import type {
  Argument,
  Attribute,
  Expression,
  If,
  Lambda,
  MatchArm,
  ObjectEntry,
  StringLiteral
} from '../ast-expressions.ts'
import type { Assign, Block, Let, Pattern, Statement } from '../ast-statements.ts'
import type { Name } from '../node.ts'
import { Kind, LAST_SOFT_KEYWORD } from '../token.ts'
import { isViewTag } from '../view-tags.ts'
import { bracedItems, closeBrace, list } from './lists.ts'
import { operatorOf, PREFIX_LEVEL } from './operators.ts'
import {
  ANY_CONTEXT,
  BEFORE_ARROW,
  BEFORE_BODY,
  ITERATED,
  isNameKind,
  JOINS_LINES,
  type Parser,
  within
} from './parser.ts'
import { parseLiteral, parsePattern, parseType, resultType } from './types-and-patterns.ts'

const ASSIGNMENTS: Readonly<Record<number, Assign['operator']>> = {
  [Kind.Equal]: '=',
  [Kind.PlusEqual]: '+=',
  [Kind.MinusEqual]: '-=',
  [Kind.StarEqual]: '*=',
  [Kind.SlashEqual]: '/='
}

/** Maximum operator precedence in a child without braces, since `<` and `>` belong to tags. */
const CHILD_LEVEL = 9

/** Parses an expression of operators that bind tighter than `level`. */
export function parseExpression(p: Parser, level = 0): Expression {
  if (!p.enter()) return missing(p)
  const outside = p.height
  p.height = 0
  let left = prefixed(p)
  while (true) {
    const found = operatorOf(p.kind)
    if (found === undefined || found.level <= level) break
    if (p.kind !== Kind.Pipe && p.onNewLine) break
    if (p.kind === Kind.Less && p.has(ITERATED) && p.has(BEFORE_BODY)) break
    if (p.kind === Kind.AndAnd || p.kind === Kind.BarBar) noteSymbol(p, found.operator)
    p.advance()
    const right = parseExpression(p, found.level)
    const { start } = left
    const end = p.lastEnd
    left =
      found.operator === 'with'
        ? { kind: 'With', id: p.nextId++, start, end, operand: left, options: right }
        : { kind: 'Binary', id: p.nextId++, start, end, operator: found.operator, left, right }
    p.grow()
  }
  p.grow()
  if (outside > p.height) p.height = outside
  p.leave()
  return left
}

/** Parses a condition or a subject, followed by a body in braces. */
export function parseHead(p: Parser): Expression {
  return within(p, BEFORE_BODY, 0, parseExpression)
}

/**
 * Parses a body: a block, one expression, or one assignment (a block without braces). Braces are a block unless they
 * can only be an object.
 */
export function parseBody(p: Parser): Expression {
  if (p.kind === Kind.LeftBrace && !hasKey(p)) return parseBlock(p)
  const value = parseExpression(p)
  const statement = statementOf(p, value)
  if (statement.kind === 'ExpressionStatement') return value
  return { kind: 'Block', id: p.nextId++, start: statement.start, end: statement.end, statements: [statement] }
}

export function parseParams(p: Parser): Param[] {
  if (p.kind === Kind.LeftParen) return list(p, Kind.RightParen, parseParam)
  p.failExpecting(['`(`'], 'before parameters')
  return []
}

function parseParam(p: Parser): Param {
  const { start } = p
  const name = p.expectName('the name of a parameter')
  const type = p.accept(Kind.Colon) ? parseType(p) : null
  const value = p.accept(Kind.Equal) ? parseExpression(p) : null
  return { kind: 'Param', start, end: p.lastEnd, name, type, value }
}

export function missing(p: Parser): Expression {
  return { kind: 'Missing', id: p.nextId++, start: p.lastEnd, end: p.lastEnd }
}

/** Parses the entries of an object, separated by commas or line breaks. The opening brace is next. */
function parseEntries(p: Parser): ObjectEntry[] {
  const { position: opening } = p
  const entries = within(p, JOINS_LINES, BEFORE_BODY | BEFORE_ARROW | ITERATED, untilObjectEnd)
  closeBrace(p, opening)
  return entries
}

function untilObjectEnd(p: Parser): ObjectEntry[] {
  const { position: opening } = p
  const entries: ObjectEntry[] = []
  p.advance()
  while (p.kind !== Kind.RightBrace && p.kind !== Kind.EndOfFile) {
    const before = p.position
    entries.push(objectEntry(p))
    if (p.accept(Kind.Comma) || p.kind === Kind.RightBrace) continue
    if (!p.inPanic && p.tokens.newlineBefore(p.position)) continue
    p.failExpecting(['`,`', '`}`'], 'after an entry of an object')
    if (!toNextEntry(p, opening) || p.position === before) break
  }
  return entries
}

function toNextEntry(p: Parser, opening: number): boolean {
  const end = p.tokens.partner(opening)
  if (end === -1) return false
  const from = p.position
  while (p.position < end && p.kind !== Kind.Comma) {
    if (p.position > from && p.tokens.newlineBefore(p.position)) break
    p.skip()
  }
  p.recovered()
  p.accept(Kind.Comma)
  return p.position <= end
}

function objectEntry(p: Parser): ObjectEntry {
  const { start } = p
  const key: Name | StringLiteral = p.kind === Kind.String ? p.takeString() : p.expectName('the key of an entry')
  const value = p.accept(Kind.Colon) ? parseExpression(p) : null
  return { kind: 'ObjectEntry', id: p.nextId++, start, end: p.lastEnd, key, value }
}

function noteSymbol(p: Parser, word: string): void {
  const { text } = p
  const span = p.here()
  p.report('lint.symbol_operator', `write \`${word}\` instead of \`${text}\``, span, {
    fixes: [{ label: `write ${word}`, span, replacement: word }]
  })
}

/** Parses `not` or `-` with its operand. */
function prefixed(p: Parser): Expression {
  const { start, kind } = p
  if (kind !== Kind.Not && kind !== Kind.Bang && kind !== Kind.Minus) return postfixed(p, primary(p))
  if (!p.enter()) return missing(p)
  p.advance()
  const negated = p.kind
  const operand: Expression =
    kind === Kind.Minus && negated === Kind.Int ? postfixed(p, parseLiteral(p, true)) : prefixed(p)
  p.grow()
  p.leave()
  return {
    kind: 'Unary',
    id: p.nextId++,
    start,
    end: p.lastEnd,
    operator: kind === Kind.Minus ? '-' : 'not',
    operand
  }
}

function postfixed(p: Parser, primary: Expression): Expression {
  const { start } = primary
  let left = primary
  while (true) {
    const { kind } = p
    if (kind === Kind.Dot) left = memberOf(p, left)
    else if (kind === Kind.Bang && !p.onNewLine && atMessage(p, p.position + 1)) {
      const { start: from } = p
      p.advance()
      left = messageTo(p, left, { start: from, end: p.lastEnd, text: 'send' })
    } else if (kind !== Kind.LeftParen && kind !== Kind.LeftBracket && kind !== Kind.Question) return left
    else if (p.onNewLine) return left
    else if (kind === Kind.LeftParen) left = callOf(p, left)
    else if (kind === Kind.LeftBracket) left = indexed(p, left)
    else {
      p.advance()
      left = { kind: 'Try', id: p.nextId++, start, end: p.lastEnd, operand: left }
    }
    p.grow()
  }
}

function memberOf(p: Parser, object: Expression): Expression {
  const { start } = object
  p.advance()
  if (p.kind === Kind.Int) {
    const index = Number(p.text)
    p.advance()
    return { kind: 'TupleIndex', id: p.nextId++, start, end: p.lastEnd, object, index }
  }
  if (p.kind === Kind.Dot) {
    failRange(p)
    return { kind: 'Member', id: p.nextId++, start, end: p.lastEnd, object, property: p.noName() }
  }
  if (p.onNewLine) {
    p.fail('expected the name of a member after the dot', { start: p.lastEnd - 1, end: p.lastEnd })
    return { kind: 'Member', id: p.nextId++, start, end: p.lastEnd, object, property: p.noName() }
  }
  const property = p.expectName('the name of a member')
  if (property.text === 'send' && !p.onNewLine && atMessage(p, p.position)) {
    return messageTo(p, object, property)
  }
  return { kind: 'Member', id: p.nextId++, start, end: p.lastEnd, object, property }
}

/** Reports `a..b`: ranges are made by the function `range`. The second dot is next. */
function failRange(p: Parser): void {
  const { tokens, position } = p
  const span = { start: p.lastEnd - 1, end: tokens.end(position) }
  const isArgument = tokens.kind(position - 3) === Kind.LeftParen && p.isWord(position - 4, 'range')
  p.fail('`..` is not an operator', span, {
    suggestions: ['write `range(a, b)` for the ints from a up to, but not including, b'],
    ...(isArgument ? { fixes: [{ label: 'write a comma', span, replacement: ', ' }] } : {})
  })
}

function atMessage(p: Parser, position: number): boolean {
  const { tokens } = p
  return tokens.kind(position) === Kind.Identifier && tokens.kind(position + 1) === Kind.LeftParen
}

/** Parses `h.send event(args)` and `h ! event(args)` as `h.send("event", args)`. */
function messageTo(p: Parser, object: Expression, property: Name): Expression {
  const { start, end, text: value } = p.takeName()
  const event: Argument = {
    kind: 'Argument',
    start,
    end,
    name: null,
    value: { kind: 'String', id: p.nextId++, start, end, value }
  }
  const args = list(p, Kind.RightParen, callArgument)
  const callee: Expression = {
    kind: 'Member',
    id: p.nextId++,
    start: object.start,
    end: property.end,
    object,
    property
  }
  return { kind: 'Call', id: p.nextId++, start: object.start, end: p.lastEnd, callee, args: [event, ...args] }
}

function indexed(p: Parser, object: Expression): Expression {
  const items = list(p, Kind.RightBracket, parseExpression)
  const { start } = object
  const end = p.lastEnd
  if (items.length !== 1) p.fail('an index must be a single expression', { start: object.end, end })
  return { kind: 'IndexAccess', id: p.nextId++, start, end, object, index: items[0] ?? missing(p) }
}

function callOf(p: Parser, callee: Expression): Expression {
  const args = list(p, Kind.RightParen, callArgument)
  const { start } = callee
  const isElement = callee.kind === 'Identifier' && isViewTag(callee.name) && args.every(({ name }) => name !== null)
  const hasChildren = isElement && p.kind === Kind.LeftBrace && !p.has(BEFORE_BODY)
  if (!hasChildren && (!isElement || args.length === 0)) {
    return { kind: 'Call', id: p.nextId++, start, end: p.lastEnd, callee, args }
  }
  const tag = { start, end: callee.end, text: callee.name }
  const attributes = args.map(attributeOf)
  const children = hasChildren ? callChildren(p) : null
  return { kind: 'Element', id: p.nextId++, start, end: p.lastEnd, syntax: 'call', tag, attributes, children }
}

function callArgument(p: Parser): Argument {
  return parseArgument(p, Kind.Equal)
}

/** Parses an argument. `separator` is the token between its name and its value. */
export function parseArgument(p: Parser, separator: number): Argument {
  const { start } = p
  const { second } = p
  const isNamed = p.atName && (second === Kind.Equal || second === separator)
  const name = isNamed ? p.takeName() : null
  if (isNamed) p.advance()
  const value = parseExpression(p)
  return { kind: 'Argument', start, end: p.lastEnd, name, value }
}

/** True if the next brace starts an object: `{ a: …` or `{ a, b: …`. */
function hasKey(p: Parser): boolean {
  const { tokens } = p
  for (let at = p.position + 1; ; at += 2) {
    const [kind, next] = [tokens.kind(at), tokens.kind(at + 1)]
    if (next === Kind.Colon) return kind === Kind.String || isNameKind(kind)
    // `{ a, b }` is a record of two variables, and `{ a }` a block.
    if (next === Kind.RightBrace) return at > p.position + 1 && kind === Kind.Identifier
    if (next !== Kind.Comma || !isNameKind(kind)) return false
  }
}
function attributeOf({ start, end, name, value }: Argument): Attribute {
  const writtenName = name ?? { start, end: start, text: '' }
  const text = writtenName.text.startsWith('attr_') ? writtenName.text.slice(5) : writtenName.text
  return { kind: 'Attribute', start, end, name: { start: writtenName.start, end: writtenName.end, text }, value }
}

function primary(p: Parser): Expression {
  const { start, kind } = p
  switch (kind) {
    case Kind.Int:
    case Kind.Float:
    case Kind.Decimal:
    case Kind.String:
    case Kind.True:
    case Kind.False:
      return parseLiteral(p, false)
    case Kind.LeftParen:
      return parentheses(p)
    case Kind.LeftBracket: {
      const items = list(p, Kind.RightBracket, parseExpression)
      return { kind: 'List', id: p.nextId++, start, end: p.lastEnd, items }
    }
    case Kind.LeftBrace:
      return objectOrBlock(p)
    case Kind.Less:
    case Kind.LessGreater:
      return markup(p)
    case Kind.If:
      return ifExpression(p)
    case Kind.Match:
      return matchExpression(p)
    case Kind.For:
      return forExpression(p)
    case Kind.Fn:
      return fnLambda(p, p.start, false)
    case Kind.Decorator:
      return markedLambda(p)
    case Kind.Spawn:
      return spawnExpression(p)
    case Kind.SideEffect: {
      p.advance()
      const body = parseBlock(p)
      return { kind: 'SideEffect', id: p.nextId++, start, end: p.lastEnd, body }
    }
    case Kind.Equal:
    case Kind.EqualEqual:
    case Kind.RightBrace:
    case Kind.RightParen:
      p.failExpecting(['an expression'], '')
      return missing(p)
    default:
      return nameOrLambda(p)
  }
}

function nameOrLambda(p: Parser): Expression {
  const { start, kind } = p
  if (kind === Kind.EndOfFile || kind > LAST_SOFT_KEYWORD) {
    p.failExpecting(['an expression'], '')
    return missing(p)
  }
  if (p.second === Kind.FatArrow && kind !== Kind.TypeIdentifier && !p.has(BEFORE_ARROW)) {
    const name = p.takeName()
    const param: Param = { kind: 'Param', start, end: name.end, name, type: null, value: null }
    return arrowLambda(p, start, [param])
  }
  const name = p.takeName()
  if (kind === Kind.TypeIdentifier && p.kind === Kind.LeftBrace && !p.has(BEFORE_BODY) && !p.onNewLine) {
    if (hasKey(p) || p.second === Kind.RightBrace)
      return { kind: 'Struct', id: p.nextId++, start, entries: parseEntries(p), end: p.lastEnd, name }
  }
  if (kind === Kind.Identifier && p.kind === Kind.String && name.text === 'r' && p.start === name.end) {
    p.fail('raw strings are not supported', name, {
      suggestions: ['write \\\\ for a backslash'],
      fixes: [{ label: 'remove the r', span: name, replacement: '' }]
    })
  }
  return { kind: 'Identifier', id: p.nextId++, start, end: name.end, name: name.text }
}

function arrowLambda(p: Parser, start: number, params: readonly Param[]): Lambda {
  p.advance()
  const body = parseBody(p)
  return {
    kind: 'Lambda',
    id: p.nextId++,
    start,
    end: p.lastEnd,
    form: 'arrow',
    isCancellable: false,
    params,
    result: null,
    body
  }
}

function parentheses(p: Parser): Expression {
  const { start } = p
  const partner = p.tokens.partner(p.position)
  if (partner !== -1 && !p.has(BEFORE_ARROW) && p.tokens.kind(partner + 1) === Kind.FatArrow) {
    return arrowLambda(p, start, parseParams(p))
  }
  const items = list(p, Kind.RightParen, parseExpression)
  const end = p.lastEnd
  const [only] = items
  if (only === undefined) return { kind: 'Unit', id: p.nextId++, start, end }
  const isTuple = items.length > 1 || commaBefore(p)
  return isTuple
    ? { kind: 'Tuple', id: p.nextId++, start, end, items }
    : { kind: 'Paren', id: p.nextId++, start, end, inner: only }
}

/** True if the last bracket follows a comma: `(a,)`. */
function commaBefore(p: Parser): boolean {
  return p.position > 1 && p.tokens.kind(p.position - 2) === Kind.Comma
}

function objectOrBlock(p: Parser): Expression {
  const { start } = p
  if (hasKey(p) || (p.second === Kind.RightBrace && !p.has(BEFORE_BODY))) {
    const entries = parseEntries(p)
    return { kind: 'Object', id: p.nextId++, start, end: p.lastEnd, entries }
  }
  if (!p.has(BEFORE_BODY)) return parseBlock(p)
  p.failExpecting(['an expression'], '')
  return missing(p)
}

function ifExpression(p: Parser): If {
  const { start } = p
  p.advance()
  const condition = parseHead(p)
  // biome-ignore lint/suspicious/noThenProperty: the field holds a branch, not a function
  const node = { kind: 'If', id: p.nextId++, start, condition, then: branch(p) } as const
  const isElseIf = atElseIf(p)
  if (isElseIf) {
    const fixes = [{ label: 'write else if', span: p.here(), replacement: 'else if' }]
    p.report('E0001', `\`${p.text}\` is not a keyword`, p.here(), { fixes })
  } else if (!p.accept(Kind.Else)) return { ...node, else: null, end: p.lastEnd }
  if (!isElseIf && p.kind !== Kind.If) return { ...node, else: parseBlock(p), end: p.lastEnd }
  if (!p.enter()) return { ...node, else: null, end: p.lastEnd }
  const other = ifExpression(p)
  p.grow()
  p.leave()
  return { ...node, else: other, end: p.lastEnd }
}

/** Parses the block after the condition of an `if`. */
function branch(p: Parser): Block {
  if (p.kind === Kind.LeftBrace || p.inPanic) return parseBlock(p, endsBranch)
  const { start } = p
  p.failExpecting(['`{`'], 'before a block', { suggestions: ['write `if condition { … } else { … }`'] })
  // The `else` of a branch without braces belongs to the same mistake.
  for (let left = MAX_BRANCH_TOKENS; left > 0 && !ENDS_BRANCH.has(p.kind); left--) p.skip()
  return { kind: 'Block', id: p.nextId++, start, end: Math.max(start, p.lastEnd), statements: [] }
}

/** Maximum number of tokens of a branch without braces that are skipped. */
const MAX_BRANCH_TOKENS = 30
const ENDS_BRANCH: ReadonlySet<number> = new Set([
  Kind.Else,
  Kind.If,
  Kind.Let,
  Kind.Return,
  Kind.RightBrace,
  Kind.EndOfFile
])

/** True at an `else` in the block of its `if`, if the file has an opening brace that is not closed. Reports it. */
function endsBranch(p: Parser): boolean {
  if (p.kind !== Kind.Else || !p.takeMissingBrace()) return false
  p.report('E0001', '`else` follows no `if`', p.here(), { suggestions: [CLOSE_BRANCH] })
  return true
}

const CLOSE_BRANCH = 'close the block of the `if` with `}` before `else`'

/** True at an `else if` of another language, after a block. */
function atElseIf(p: Parser): boolean {
  return !p.onNewLine && (p.atWord('elif') || p.atWord('elsif') || p.atWord('elseif'))
}

function matchExpression(p: Parser): Expression {
  const { start } = p
  p.advance()
  const subject = parseHead(p)
  if (atLiteral(p, subject)) skipLiteral(p, subject)
  const opening = p.position
  if (!p.expect(Kind.LeftBrace, 'before the arms of `match`')) {
    return { kind: 'Match', id: p.nextId++, start, end: p.lastEnd, subject, arms: [] }
  }
  const arms = bracedItems(p, opening, false, matchArm)
  return { kind: 'Match', id: p.nextId++, start, end: p.lastEnd, subject, arms }
}

/** True at the members of a struct literal without parentheses: `match Point { x: 1 } { … }`. */
function atLiteral(p: Parser, { kind }: Expression): boolean {
  const isMember = isNameKind(p.second) && p.tokens.kind(p.position + 2) === Kind.Colon
  return kind === 'Identifier' && p.kind === Kind.LeftBrace && isMember && p.tokens.partner(p.position) > 0
}

/** Reports a struct literal without parentheses, and skips its members. */
function skipLiteral(p: Parser, { start }: Expression): void {
  const span = { start, end: p.tokens.end(p.tokens.partner(p.position)) }
  const replacement = `(${p.tokens.source.slice(span.start, span.end)})`
  p.report('E0001', 'a literal before the arms of `match` needs parentheses', span, {
    fixes: [{ label: 'write it in parentheses', span, replacement }]
  })
  p.skip()
}

function matchArm(p: Parser): MatchArm {
  const { start } = p
  const patterns: Pattern[] = []
  do patterns.push(parsePattern(p))
  while (p.accept(Kind.Bar))
  let guard: Expression | null = null
  if (p.accept(Kind.If)) {
    guard = within(p, BEFORE_ARROW, 0, parseExpression)
  }
  if (p.kind === Kind.Arrow) {
    const span = p.here()
    p.report('E0001', 'write `=>` instead of `->` in an arm of `match`', span, {
      fixes: [{ label: 'write =>', span, replacement: '=>' }]
    })
    p.advance()
  } else p.expect(Kind.FatArrow, 'after the pattern of an arm')
  const body = p.inPanic ? missing(p) : armBody(p)
  return { kind: 'MatchArm', start, end: p.lastEnd, patterns, guard, body }
}

function armBody(p: Parser): Expression | Statement {
  if (p.kind === Kind.LeftBrace && p.second === Kind.RightBrace) return parseBlock(p)
  const statement = parseStatement(p)
  return statement.kind === 'ExpressionStatement' ? statement.expression : statement
}

function forExpression(p: Parser): Expression {
  const { start } = p
  p.advance()
  if (atCountingLoop(p)) return countingLoop(p, start)
  const binding = parsePattern(p)
  const index = p.accept(Kind.Comma) ? p.expectName('the name of an index') : null
  p.expect(Kind.In, 'after the variable of `for`')
  const iterable = within(p, ITERATED | BEFORE_BODY, 0, parseExpression)
  let key: Expression | null = null
  if (p.atWord('key') && p.second === Kind.Equal) {
    p.advance()
    p.advance()
    key = parseHead(p)
  }
  const body = p.inPanic ? missing(p) : parseBody(p)
  return { kind: 'For', id: p.nextId++, start, end: p.lastEnd, binding, index, iterable, key, body }
}

/** True at the parentheses of a loop of another language: those of a pattern precede `in` or the name of an index. */
function atCountingLoop(p: Parser): boolean {
  if (p.kind !== Kind.LeftParen) return false
  const end = p.tokens.partner(p.position)
  const next = p.tokens.kind(end + 1)
  return end > p.position && next !== Kind.In && next !== Kind.Comma
}

/** Reports a loop of another language: `for (let i = 0; i < n; i++) { … }`, `for (x in xs) { … }`. */
function countingLoop(p: Parser, start: number): Expression {
  const opening = p.position
  const end = p.tokens.partner(opening)
  const span = { start: p.start, end: p.tokens.end(end) }
  const counts = p.tokens.source.slice(span.start, span.end).includes(';')
  p.report('E0001', '`for` takes no parentheses', span, {
    suggestions: [counts ? 'write `for i in range(0, n) { … }`, or a `while` loop' : 'write `for x in xs { … }`']
  })
  p.moveTo(end + 1)
  const at = { start: span.start, end: span.start }
  const binding: Pattern = { kind: 'WildcardPattern', id: p.nextId++, ...at }
  const iterable: Expression = { kind: 'Missing', id: p.nextId++, ...at }
  const body = parseBody(p)
  return { kind: 'For', id: p.nextId++, start, end: p.lastEnd, binding, index: null, iterable, key: null, body }
}

/** Parses `@cancellable fn(…) …`; a decorator is next. */
function markedLambda(p: Parser): Expression {
  const { start } = p
  if (p.text !== '@cancellable') {
    p.failExpecting(['an expression'], '', { suggestions: ['only `@cancellable` may precede a lambda'] })
    return missing(p)
  }
  p.advance()
  if (p.kind === Kind.Fn) return fnLambda(p, start, true)
  p.failExpecting(['`fn`'], 'after `@cancellable`')
  return missing(p)
}

function fnLambda(p: Parser, start: number, isCancellable: boolean): Lambda {
  p.advance()
  const params = parseParams(p)
  const result = p.inPanic ? null : resultType(p)
  const body = p.inPanic ? missing(p) : parseBody(p)
  return { kind: 'Lambda', id: p.nextId++, start, end: p.lastEnd, form: 'fn', isCancellable, params, result, body }
}

function spawnExpression(p: Parser): Expression {
  const { start } = p
  p.advance()
  if (p.kind === Kind.LeftParen && !p.onNewLine) {
    const targets = list(p, Kind.RightParen, parseExpression)
    const end = p.lastEnd
    if (targets.length !== 1) p.fail('`spawn` requires exactly one actor', { start, end })
    return { kind: 'Spawn', id: p.nextId++, start, end, target: targets[0] ?? missing(p) }
  }
  const target = parseExpression(p, PREFIX_LEVEL)
  return { kind: 'Spawn', id: p.nextId++, start, end: p.lastEnd, target }
}

/** Parses an element or a fragment. `<` or `<>` is next. */
function markup(p: Parser): Expression {
  if (!p.enter()) return missing(p)
  const node = within(p, 0, ANY_CONTEXT, p.kind === Kind.LessGreater ? fragmentMarkup : elementMarkup)
  p.grow()
  p.leave()
  return node
}

function fragmentMarkup(p: Parser): Expression {
  const { start } = p
  p.advance()
  const children = markupChildren(p, start, '')
  return { kind: 'ElementFragment', id: p.nextId++, start, end: p.lastEnd, children }
}

function elementMarkup(p: Parser): Expression {
  const { start } = p
  p.advance()
  const tag = compoundName(p, 'the name of an element', Kind.Dot, Kind.Minus)
  const attributes: Attribute[] = []
  while (p.atName) attributes.push(attribute(p))
  const element = { kind: 'Element', id: p.nextId++, start, syntax: 'jsx', tag, attributes } as const
  if (p.accept(Kind.SlashGreater)) return { ...element, children: null, end: p.lastEnd }
  if (!p.accept(Kind.Greater)) {
    p.failExpecting(['an attribute', '`>`', '`/>`'], `in <${tag.text}>`)
    return { ...element, children: null, end: p.lastEnd }
  }
  const children = markupChildren(p, start, tag.text)
  return { ...element, children, end: p.lastEnd }
}

/** Reads names joined by one of two signs, without spaces around the signs. */
function compoundName(p: Parser, description: string, sign: number, other: number): Name {
  const first = p.expectName(description)
  let { end, text } = first
  while ((p.kind === sign || p.kind === other) && isNameKind(p.second)) {
    text += p.text
    p.advance()
    text += p.text
    end = p.tokens.end(p.position)
    p.advance()
  }
  return { start: first.start, end, text }
}

function attribute(p: Parser): Attribute {
  const { start } = p
  const name = compoundName(p, 'an attribute', Kind.Colon, Kind.Minus)
  if (!p.accept(Kind.Equal)) return { kind: 'Attribute', start, end: name.end, name, value: null }
  const value = attributeValue(p)
  return { kind: 'Attribute', start, end: p.lastEnd, name, value }
}

function attributeValue(p: Parser): Expression {
  if (p.kind === Kind.String) return p.takeString()
  return p.kind === Kind.LeftBrace ? bracedValue(p) : prefixed(p)
}

/** Parses `{ e }`: an expression, or a block of statements. */
function bracedValue(p: Parser): Expression {
  const first = p.second
  const isObject = (first === Kind.String || isNameKind(first)) && p.tokens.kind(p.position + 2) === Kind.Colon
  if (isObject) return parseExpression(p)
  const block = parseBlock(p)
  const [only] = block.statements
  return block.statements.length === 1 && only?.kind === 'ExpressionStatement' ? only.expression : block
}

function markupChildren(p: Parser, start: number, tag: string): Expression[] {
  const children: Expression[] = []
  p.openTags.push(tag)
  while (p.kind !== Kind.LessSlash && p.kind !== Kind.EndOfFile) {
    const before = p.position
    if (p.kind === Kind.RightBrace || p.kind === Kind.RightParen) break
    if (!failAtText(p, children.at(-1))) children.push(markupChild(p))
    if (!p.inPanic && p.position !== before) continue
    if (!toNextChild(p, before)) break
  }
  p.openTags.pop()
  closingTag(p, start, tag)
  return children
}

function closingTag(p: Parser, start: number, tag: string): void {
  const related = [{ span: { start, end: start + 1 + tag.length }, message: 'opened here' }]
  const { position: slash } = p
  if (!p.accept(Kind.LessSlash)) {
    p.failExpecting([`\`</${tag}>\``], '', { related })
    return
  }
  const from = p.start
  const closing = tag === '' && !p.atName ? '' : compoundName(p, 'the name of the element', Kind.Dot, Kind.Minus).text
  const span = { start: from, end: p.lastEnd }
  if (closing !== tag && p.openTags.includes(closing)) {
    p.report('E0001', `\`<${tag}>\` is not closed before \`</${closing}>\``, span, { related })
    p.moveTo(slash)
    return
  }
  if (closing !== tag) {
    const fixes = [{ label: `write ${tag}`, span, replacement: tag }]
    p.report('E0001', `\`</${closing}>\` does not match \`<${tag}>\``, span, { related, fixes })
  }
  p.expect(Kind.Greater, `after \`</${tag}\``)
}

/** Skips an invalid child. Returns false if the element probably ends without a closing tag. */
function toNextChild(p: Parser, before: number): boolean {
  if (p.position === before) p.skip()
  while (p.kind !== Kind.LessSlash && p.kind !== Kind.Less && p.kind !== Kind.EndOfFile) {
    if (p.kind === Kind.RightBrace || p.kind === Kind.RightParen) return false
    if (p.tokens.newlineBefore(p.position)) break
    p.skip()
  }
  p.recovered()
  return true
}

function markupChild(p: Parser): Expression {
  switch (p.kind) {
    case Kind.String:
      return p.takeString()
    case Kind.LeftBrace:
      return bracedValue(p)
    case Kind.Less:
    case Kind.LessGreater:
      return markup(p)
    default:
      return parseExpression(p, CHILD_LEVEL)
  }
}

/** Reports a text without quotes at its punctuation mark: `<p>Hello, world!</p>`. Returns false at an expression. */
function failAtText(p: Parser, before: Expression | undefined): boolean {
  const isMark = p.kind === Kind.Comma || p.kind === Kind.Dot || p.kind === Kind.Colon || p.kind === Kind.Question
  if (!isMark || before?.kind !== 'Identifier') return false
  p.fail(`the text of a view is written in quotes, found ${p.found()}`, p.here(), {
    suggestions: [`write \`"…"\` from \`${before.name}\` to the end of the text`]
  })
  return true
}

/** Parses the block of children of an element call. The opening brace is next. */
function callChildren(p: Parser): Expression[] {
  const { position: opening } = p
  if (!p.enter()) return []
  p.advance()
  const children = bracedItems(p, opening, false, parseExpression)
  p.leave()
  return children
}

export function parseBlock(p: Parser, endsBefore: ((p: Parser) => boolean) | null = null): Block {
  const { start, position: opening } = p
  let statements: Statement[] = []
  if (!p.enter()) return { kind: 'Block', id: p.nextId++, start, end: start, statements }
  if (p.expect(Kind.LeftBrace, 'before a block')) statements = bracedItems(p, opening, true, parseStatement, endsBefore)
  p.leave()
  return { kind: 'Block', id: p.nextId++, start, end: Math.max(start, p.lastEnd), statements }
}

export function parseStatement(p: Parser): Statement {
  const { start } = p
  switch (p.kind) {
    case Kind.Let:
      return letStatement(p)
    case Kind.Return: {
      p.advance()
      const value = endsStatement(p) ? null : parseExpression(p)
      return { kind: 'Return', start, end: p.lastEnd, value }
    }
    case Kind.While: {
      p.advance()
      const condition = parseHead(p)
      const body = parseBlock(p)
      return { kind: 'While', start, end: p.lastEnd, condition, body }
    }
    case Kind.Loop: {
      p.advance()
      const body = parseBlock(p)
      return { kind: 'Loop', start, end: p.lastEnd, body }
    }
    case Kind.Break:
      p.advance()
      return { kind: 'Break', start, end: p.lastEnd }
    case Kind.Continue:
      p.advance()
      return { kind: 'Continue', start, end: p.lastEnd }
    case Kind.Else:
      p.fail('`else` follows no `if`', p.here(), { suggestions: [CLOSE_BRANCH] })
      return statementOf(p, missing(p))
    default:
      return atVariable(p) ? variableStatement(p) : statementOf(p, parseExpression(p))
  }
}

/** True at a variable as other languages declare one: `const a = 1`. */
function atVariable(p: Parser): boolean {
  const isWord = p.atWord('const') || p.atWord('var') || p.atWord('val')
  if (!isWord || p.second !== Kind.Identifier || p.tokens.newlineBefore(p.position + 1)) return false
  const third = p.tokens.kind(p.position + 2)
  return third === Kind.Equal || third === Kind.Colon
}

function variableStatement(p: Parser): Statement {
  const word = p.text
  const replacement = word === 'var' ? 'let mut' : 'let'
  const fixes = [{ label: `write ${replacement}`, span: p.here(), replacement }]
  p.report('E0001', `\`${word}\` declares no variable in a function`, p.here(), { fixes })
  const statement = letStatement(p)
  return word === 'var' ? { ...statement, isMutable: true } : statement
}

/** Parses a `let` statement; `let` is next. */
export function letStatement(p: Parser): Let {
  const { start } = p
  p.advance()
  const isMutable = p.accept(Kind.Mut)
  const pattern = parsePattern(p)
  const type = p.accept(Kind.Colon) ? parseType(p) : null
  p.expect(Kind.Equal, 'after the name in `let`')
  const value = p.inPanic ? missing(p) : parseExpression(p)
  return { kind: 'Let', start, end: p.lastEnd, form: 'let', isMutable, pattern, type, value }
}

function endsStatement(p: Parser): boolean {
  const { kind } = p
  return kind === Kind.RightBrace || kind === Kind.Comma || kind === Kind.EndOfFile || p.onNewLine
}

function statementOf(p: Parser, target: Expression): Statement {
  const { start } = target
  const operator = ASSIGNMENTS[p.kind]
  if (operator === undefined || p.onNewLine) {
    return { kind: 'ExpressionStatement', start, end: target.end, expression: target }
  }
  if (!isAssignable(target.kind)) p.report('E0001', 'cannot assign to this expression', target)
  p.advance()
  const value = parseExpression(p)
  return { kind: 'Assign', start, end: p.lastEnd, target, operator, value }
}
function isAssignable(kind: string): boolean {
  return (
    kind === 'Identifier' || kind === 'Member' || kind === 'IndexAccess' || kind === 'TupleIndex' || kind === 'Missing'
  )
}
