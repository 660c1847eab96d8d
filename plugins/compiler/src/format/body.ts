// toestub-ignore(arch/god_object) - expressions, statements and views contain each other, so their printers are one recursion
import { type Doc, group, hardline, indent, join, line, mustBreak, softline } from '../doc/doc.ts'
import type { Param } from '../syntax/ast.ts'
import type {
  Argument,
  Attribute,
  Binary,
  Call,
  Element,
  ElementFragment,
  Expression,
  For,
  If,
  IndexAccess,
  Lambda,
  MatchArm,
  Member,
  ObjectEntry,
  StringLiteral,
  Try,
  TupleIndex
} from '../syntax/ast-expressions.ts'
import type { Block, Pattern, Statement } from '../syntax/ast-statements.ts'
import { isStatement } from '../syntax/is-statement.ts'
import { BINARY } from '../syntax/parser/operators.ts'
import type { Printer } from './printer.ts'
import { annotationText, resultText } from './types.ts'

type Postfix = Call | Member | TupleIndex | IndexAccess | Try

/** Minimum length of a call chain that is broken into one call per line. */
const LONG_CHAIN = 3

export function printExpression(p: Printer, node: Expression): Doc {
  switch (node.kind) {
    case 'Int':
    case 'Float':
      return node.digits
    case 'Decimal':
      return `${node.digits}dec`
    case 'String':
      return stringText(p, node)
    case 'Bool':
      return String(node.value)
    case 'Unit':
      return '()'
    case 'Identifier':
      return node.name
    case 'Paren':
      return group(['(', indent([softline, printExpression(p, node.inner)]), softline, ')'])
    case 'Tuple':
      return printTuple(p, node.items, node.end)
    case 'List':
      return p.list('[', node.items, ']', node.end, item => printExpression(p, item))
    case 'Object':
      return printEntries(p, '', node.entries, node.start, node.end)
    case 'Struct':
      return printEntries(p, `${node.name.text} `, node.entries, node.name.end, node.end)
    case 'Block':
      return printBlock(p, node)
    case 'If':
      return printIf(p, node, isInline(p, node))
    case 'Match':
      return printMatch(p, node)
    case 'For':
      return printFor(p, node)
    case 'Lambda':
      return printLambda(p, node)
    case 'Spawn':
      return ['spawn(', printExpression(p, node.target), ')']
    case 'SideEffect':
      return ['side_effect ', printBlock(p, node.body)]
    case 'Unary':
      return [node.operator === 'not' ? 'not ' : '-', printExpression(p, node.operand)]
    case 'Binary':
      return printBinary(p, node)
    case 'With':
      return [printExpression(p, node.operand), ' with ', printExpression(p, node.options)]
    case 'Call':
    case 'Member':
    case 'TupleIndex':
    case 'IndexAccess':
    case 'Try':
      return printChain(p, node)
    case 'Element':
    case 'ElementFragment':
      return printElement(p, node)
    case 'Missing':
      return ''
  }
}

/** Prints a string in double quotes, or in single quotes if that needs fewer escapes. */
export function stringText(p: Printer, node: StringLiteral): string {
  const text = p.text(node)
  // The event name of a message, `h.send event(…)`, has no quotes.
  if (text[0] !== '"' && text[0] !== "'") return `"${text}"`
  if (text[0] === '"' || text.includes('"')) return text
  return `"${text.slice(1, -1).replaceAll("\\'", "'")}"`
}

function patternText(p: Printer, node: Pattern): string {
  switch (node.kind) {
    case 'WildcardPattern':
      return '_'
    case 'BindingPattern':
      return node.name.text
    case 'ConstructorPattern': {
      if (node.args === null) return node.name.text
      return `${node.name.text}(${node.args.map(each => patternText(p, each)).join(', ')})`
    }
    case 'TuplePattern':
      return `(${node.items.map(each => patternText(p, each)).join(', ')})`
    case 'LiteralPattern': {
      const { value } = node
      const text = value.kind === 'String' ? stringText(p, value) : p.text(value)
      return node.isNegative ? `-${text}` : text
    }
  }
}

export function printParams(p: Printer, params: readonly Param[], end: number): Doc {
  return p.list('(', params, ')', end, ({ name, type, value }) => [
    name.text,
    annotationText(type),
    value === null ? '' : [' = ', printExpression(p, value)]
  ])
}

/** Prints a block. It stays on one line if it was on one, holds one statement, and `mayBeInline`. */
export function printBlock(p: Printer, node: Block, mayBeInline = true): Doc {
  const { statements, start, end } = node
  const inline = mayBeInline && statements.length < 2 && !p.hasBreak(start, end)
  return inline ? group(printShortBlock(p, node, line)) : printShortBlock(p, node, hardline)
}

/** Prints a block with `padding` inside its braces, without a group. */
function printShortBlock(p: Printer, { statements, end }: Block, padding: Doc): Doc {
  if (statements.length === 0 && !p.hasCommentBefore(end)) return '{}'
  const content = p.lines(statements, end - 1, statement => printStatement(p, statement))
  return ['{', indent([padding, content]), padding, '}']
}

function printTuple(p: Printer, items: readonly Expression[], end: number): Doc {
  const [only] = items
  if (items.length !== 1 || only === undefined) return p.list('(', items, ')', end, item => printExpression(p, item))
  return ['(', printExpression(p, only), ',)']
}

function printEntries(p: Printer, name: string, entries: readonly ObjectEntry[], start: number, end: number): Doc {
  const first = entries[0]
  const isExpanded = first !== undefined && p.hasBreak(start, first.start)
  const print = ({ key, value }: ObjectEntry): Doc => {
    const label = 'text' in key ? key.text : stringText(p, key)
    return value === null ? label : [label, ': ', printExpression(p, value)]
  }
  const padding = isExpanded ? hardline : line
  return p.list(`${name}{`, entries, '}', end, print, padding, isExpanded)
}

function isInline(p: Printer, node: If): boolean {
  if (p.hasBreak(node.start, node.end)) return false
  for (let each: If | Block | null = node; each !== null; each = each.kind === 'If' ? each.else : null) {
    const block: Block = each.kind === 'If' ? each.then : each
    if (block.statements.length > 1) return false
  }
  return true
}

/** Prints an `if` with all of its branches on one line, or with none. */
function printIf(p: Printer, node: If, inline: boolean): Doc {
  const padding = inline ? line : hardline
  const parts: Doc[] = []
  let each: If | Block | null = node
  while (each !== null) {
    if (each.kind === 'Block') {
      parts.push(printShortBlock(p, each, padding))
      break
    }
    parts.push(['if ', printExpression(p, each.condition), ' ', printShortBlock(p, each.then, padding)])
    if (each.else !== null) parts.push(' else ')
    each = each.else
  }
  return group(parts)
}

function printMatch(p: Printer, { subject, arms, end }: Extract<Expression, { kind: 'Match' }>): Doc {
  const head = ['match ', printExpression(p, subject), ' ']
  const content = p.lines(arms, end - 1, arm => printArm(p, arm))
  return content.length === 0 ? [head, '{}'] : [head, '{', indent([hardline, content]), hardline, '}']
}

function printArm(p: Printer, { patterns, guard, body }: MatchArm): Doc {
  const head = [
    patterns.map(each => patternText(p, each)).join(' | '),
    guard === null ? '' : [' if ', printExpression(p, guard)],
    ' => '
  ]
  return [head, isStatement(body) ? printStatement(p, body) : printExpression(p, body)]
}

function printFor(p: Printer, { binding, index, iterable, key, body }: For): Doc {
  return [
    'for ',
    patternText(p, binding),
    index === null ? '' : `, ${index.text}`,
    ' in ',
    printExpression(p, iterable),
    key === null ? '' : [' key=', printExpression(p, key)],
    printBody(p, body, continuesValue)
  ]
}

/** Prints a body after its head. It goes on a separate line if it would otherwise continue the head. */
function printBody(p: Printer, body: Expression, continues: (first: Expression) => boolean): Doc {
  let first = body
  for (let next = leftOf(first); next !== null; next = leftOf(first)) first = next
  const printed = printExpression(p, body)
  return continues(first) ? indent([hardline, printed]) : [' ', printed]
}

function printLambda(p: Printer, { form, isCancellable, params, result, body }: Lambda): Doc {
  const [only] = params
  const isBare =
    form === 'arrow' && params.length === 1 && only !== undefined && only.type === null && only.value === null
  if (form === 'fn') {
    const continues = (first: Expression): boolean => result !== null && first.kind === 'List'
    return [
      isCancellable ? '@cancellable fn' : 'fn',
      printParams(p, params, body.start),
      resultText(result),
      printBody(p, body, continues)
    ]
  }
  const head = isBare ? only.name.text : printParams(p, params, body.start)
  return [head, ' => ', printExpression(p, body)]
}

/** Prints a chain of operators of one precedence, which break together: after each operator, or before each pipe. */
function printBinary(p: Printer, node: Binary): Doc {
  const rest: { readonly operator: Binary['operator']; readonly right: Expression }[] = []
  const level = BINARY[node.operator]
  let left: Expression = node
  while (left.kind === 'Binary' && BINARY[left.operator] === level) {
    rest.push(left)
    left = left.left
  }
  const first = printExpression(p, left)
  const others = rest.reverse().map(({ operator, right }): Doc => {
    return operator === '|>'
      ? [line, '|> ', printExpression(p, right)]
      : [` ${operator}`, line, printExpression(p, right)]
  })
  return group([first, indent(others)])
}

function printChain(p: Printer, node: Postfix): Doc {
  const links: Postfix[] = []
  let base: Expression = node
  while (isPostfix(base)) {
    links.push(base)
    base = baseOf(base)
  }
  links.reverse()
  const calls = links.filter((link, index) => link.kind === 'Call' && links[index - 1]?.kind === 'Member').length
  // `2 .0` accesses the first element of `2`; without the space it would be a float.
  const head: Doc[] = [printExpression(p, base), base.kind === 'Int' && links[0]?.kind === 'TupleIndex' ? ' ' : '']
  const rest: Doc[] = []
  let seen = 0
  for (const [index, link] of links.entries()) {
    const isStep = link.kind === 'Member' && links[index + 1]?.kind === 'Call'
    const part = printLink(p, link)
    if (isStep) seen++
    if (seen < 2) head.push(part)
    else rest.push(isStep ? [softline, part] : part)
  }
  return calls < LONG_CHAIN ? [head, rest.map(withoutBreak)] : group([head, indent(rest)])
}

function printLink(p: Printer, link: Postfix): Doc {
  switch (link.kind) {
    case 'Member':
      return `.${link.property.text}`
    case 'TupleIndex':
      return `.${link.index}`
    case 'IndexAccess':
      return ['[', printExpression(p, link.index), ']']
    case 'Try':
      return '?'
    case 'Call':
      return printArguments(p, link.args, link.end)
  }
}

function printArguments(p: Printer, args: readonly Argument[], end: number): Doc {
  const print = ({ name, value }: Argument): Doc => [name === null ? '' : `${name.text}=`, printExpression(p, value)]
  const last = args.at(-1)
  if (last === undefined || !hugs(last.value) || p.hasCommentBefore(last.value.start)) {
    return p.list('(', args, ')', end, print)
  }
  const printed = args.map(print)
  if (printed.slice(0, -1).some(mustBreak)) {
    return group(['(', indent([softline, join([',', line], printed)]), softline, ')'])
  }
  return ['(', join(', ', printed), ')']
}

function isPostfix(node: Expression): node is Postfix {
  const { kind } = node
  return kind === 'Call' || kind === 'Member' || kind === 'TupleIndex' || kind === 'IndexAccess' || kind === 'Try'
}

function baseOf(node: Postfix): Expression {
  if (node.kind === 'Call') return node.callee
  return node.kind === 'Try' ? node.operand : node.object
}

/** Removes the optional line break at the start of a document. */
function withoutBreak(doc: Doc): Doc {
  return Array.isArray(doc) && doc[0] === softline ? doc.slice(1) : doc
}

/** True if the brackets around a last argument may stay on its first and last lines. */
function hugs(node: Expression): boolean {
  const { kind } = node
  if (kind === 'Lambda') return node.body.kind === 'Block'
  return kind === 'Object' || kind === 'List' || kind === 'Block' || kind === 'Struct'
}

/** True if the expression would be parsed as a continuation of the value before it: arguments, an index, an operand. */
function continuesValue(first: Expression): boolean {
  if (first.kind === 'Unary') return first.operator === '-'
  if (first.kind === 'Lambda') return first.form === 'arrow'
  return first.kind === 'Paren' || first.kind === 'Tuple' || first.kind === 'Unit' || first.kind === 'List'
}

/** Returns the first operand of an expression; null if the expression begins with another token. */
function leftOf(node: Expression): Expression | null {
  switch (node.kind) {
    case 'Binary':
      return node.left
    case 'With':
    case 'Try':
      return node.operand
    case 'Call':
      return node.callee
    case 'Member':
    case 'TupleIndex':
    case 'IndexAccess':
      return node.object
    default:
      return null
  }
}

function printElement(p: Printer, node: Element | ElementFragment): Doc {
  if (node.kind === 'ElementFragment') {
    return node.children.length === 0 ? '<></>' : printMarkup(p, '<>', node.children, '</>', node.start, node.end)
  }
  return node.syntax === 'jsx' ? printJsx(p, node) : printElementCall(p, node)
}

function printJsx(p: Printer, { tag, attributes, children, start, end }: Element): Doc {
  const printed = attributes.map((each): Doc => [line, printAttribute(p, each)])
  const isClosed = children === null
  const close = isClosed ? ' />' : '>'
  const head =
    attributes.length === 0
      ? `<${tag.text}${close}`
      : group([`<${tag.text}`, indent(printed), isClosed ? [line, '/>'] : [softline, '>']])
  if (isClosed) return head
  const tail = `</${tag.text}>`
  if (children.length === 0 && !p.hasCommentBefore(end)) return [head, tail]
  return printMarkup(p, head, children, tail, start, end)
}

function printMarkup(
  p: Printer,
  head: Doc,
  children: readonly Expression[],
  tail: string,
  start: number,
  end: number
): Doc {
  const close = end - tail.length
  const inline = children.length < 2 && !p.hasBreak(start, end) && !p.hasCommentBefore(close)
  const content = p.lines(children, close, child => printChild(p, child))
  return inline
    ? group([head, indent([softline, content]), softline, tail])
    : [head, indent([hardline, content]), hardline, tail]
}

function printChild(p: Printer, node: Expression): Doc {
  if (node.kind === 'String') return stringText(p, node)
  return node.kind === 'Element' || node.kind === 'ElementFragment' ? printElementChild(p, node) : printBraced(p, node)
}

/** Prints an element that is written as a call, in the form of an expression. */
function printElementChild(p: Printer, node: Element | ElementFragment): Doc {
  return node.kind === 'Element' && node.syntax === 'call' ? printBraced(p, node) : printElement(p, node)
}

function printAttribute(p: Printer, { name, value }: Attribute): Doc {
  if (value === null) return name.text
  return [name.text, '=', value.kind === 'String' ? stringText(p, value) : printBraced(p, value)]
}

/** Prints an expression in braces. A block has its own braces; other expressions get them. */
function printBraced(p: Printer, node: Expression): Doc {
  if (node.kind !== 'Block') return ['{', printExpression(p, node), '}']
  const [only] = node.statements
  const isSingle = node.statements.length === 1 && only?.kind === 'ExpressionStatement'
  return isSingle ? ['{', printBlock(p, node), '}'] : printBlock(p, node)
}

function printElementCall(p: Printer, { tag, attributes, children, start, end }: Element): Doc {
  const close = children === null ? end : (attributes.at(-1)?.end ?? tag.end)
  const args = p.list('(', attributes, ')', close, ({ name, value }) => [
    p.text(name),
    '=',
    value === null ? '' : printExpression(p, value)
  ])
  if (children === null) return [tag.text, args]
  const head = [tag.text, args, ' ']
  if (children.length === 0 && !p.hasCommentBefore(end)) return [head, '{}']
  const inline = children.length < 2 && !p.hasBreak(start, end) && !p.hasCommentBefore(end)
  const content = p.lines(children, end - 1, child => printExpression(p, child))
  return inline
    ? group([head, '{', indent([line, content]), line, '}'])
    : [head, '{', indent([hardline, content]), hardline, '}']
}

export function printStatement(p: Printer, node: Statement): Doc {
  switch (node.kind) {
    case 'Let': {
      const mutable = node.isMutable ? 'mut ' : ''
      const head = `${node.form} ${mutable}${patternText(p, node.pattern)}${annotationText(node.type)} = `
      return [head, printExpression(p, node.value)]
    }
    case 'Assign':
      return [printExpression(p, node.target), ` ${node.operator} `, printExpression(p, node.value)]
    case 'ExpressionStatement':
      return printExpression(p, node.expression)
    case 'Return':
      return node.value === null ? 'return' : ['return ', printExpression(p, node.value)]
    case 'While':
      return ['while ', printExpression(p, node.condition), ' ', printBlock(p, node.body, false)]
    case 'Loop':
      return ['loop ', printBlock(p, node.body, false)]
    case 'Break':
      return 'break'
    case 'Continue':
      return 'continue'
  }
}
