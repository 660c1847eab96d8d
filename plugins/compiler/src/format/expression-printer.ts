import { type Doc, group, hardline, indent, join, line, mustBreak, softline } from '../doc/doc.ts'
import type { Param } from '../syntax/ast.ts'
import type {
  Argument,
  Binary,
  Call,
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
import { TypePrinter } from './type-printer.ts'

type Postfix = Call | Member | TupleIndex | IndexAccess | Try

/** Minimum length of a call chain that is broken into one call per line. */
const LONG_CHAIN = 3

/** Prints expressions and patterns. */
export abstract class ExpressionPrinter extends TypePrinter {
  protected abstract statement(statement: Statement): Doc
  protected abstract element(element: Extract<Expression, { kind: 'Element' | 'ElementFragment' }>): Doc

  protected expression(node: Expression): Doc {
    switch (node.kind) {
      case 'Int':
      case 'Float':
        return node.digits
      case 'Decimal':
        return `${node.digits}dec`
      case 'String':
        return this.string(node)
      case 'Bool':
        return String(node.value)
      case 'Unit':
        return '()'
      case 'Identifier':
        return node.name
      case 'Paren':
        return group(['(', indent([softline, this.expression(node.inner)]), softline, ')'])
      case 'Tuple':
        return this.#tuple(node.items, node.end)
      case 'List':
        return this.list('[', node.items, ']', node.end, item => this.expression(item))
      case 'Object':
        return this.#entries('', node.entries, node.start, node.end)
      case 'Struct':
        return this.#entries(`${node.name.text} `, node.entries, node.name.end, node.end)
      case 'Block':
        return this.block(node)
      case 'If':
        return this.#if(node, this.#isInline(node))
      case 'Match':
        return this.#match(node)
      case 'For':
        return this.#for(node)
      case 'Lambda':
        return this.#lambda(node)
      case 'Spawn':
        return ['spawn(', this.expression(node.target), ')']
      case 'SideEffect':
        return ['side_effect ', this.block(node.body)]
      case 'Unary':
        return [node.operator === 'not' ? 'not ' : '-', this.expression(node.operand)]
      case 'Binary':
        return this.#binary(node)
      case 'With':
        return [this.expression(node.operand), ' with ', this.expression(node.options)]
      case 'Call':
      case 'Member':
      case 'TupleIndex':
      case 'IndexAccess':
      case 'Try':
        return this.#chain(node)
      case 'Element':
      case 'ElementFragment':
        return this.element(node)
      case 'Missing':
        return ''
    }
  }

  /** Prints a string in double quotes, or in single quotes if that needs fewer escapes. */
  protected string(node: StringLiteral): string {
    const text = this.text(node)
    // The event name of a message, `h.send event(…)`, has no quotes.
    if (text[0] !== '"' && text[0] !== "'") return `"${text}"`
    if (text[0] === '"' || text.includes('"')) return text
    return `"${text.slice(1, -1).replaceAll("\\'", "'")}"`
  }

  protected pattern(node: Pattern): string {
    switch (node.kind) {
      case 'WildcardPattern':
        return '_'
      case 'BindingPattern':
        return node.name.text
      case 'ConstructorPattern': {
        if (node.args === null) return node.name.text
        return `${node.name.text}(${node.args.map(each => this.pattern(each)).join(', ')})`
      }
      case 'TuplePattern':
        return `(${node.items.map(each => this.pattern(each)).join(', ')})`
      case 'LiteralPattern': {
        const { value } = node
        const text = value.kind === 'String' ? this.string(value) : this.text(value)
        return node.isNegative ? `-${text}` : text
      }
    }
  }

  protected params(params: readonly Param[], end: number): Doc {
    return this.list('(', params, ')', end, ({ name, type, value }) => [
      name.text,
      this.annotation(type),
      value === null ? '' : [' = ', this.expression(value)]
    ])
  }

  /** Prints a block. It stays on one line if it was on one, holds one statement, and `mayBeInline`. */
  protected block(node: Block, mayBeInline = true): Doc {
    const { statements, start, end } = node
    const inline = mayBeInline && statements.length < 2 && !this.hasBreak(start, end)
    return inline ? group(this.#shortBlock(node, line)) : this.#shortBlock(node, hardline)
  }

  /** Prints a block with `padding` inside its braces, without a group. */
  #shortBlock({ statements, end }: Block, padding: Doc): Doc {
    if (statements.length === 0 && !this.hasCommentBefore(end)) return '{}'
    const content = this.lines(statements, end - 1, statement => this.statement(statement))
    return ['{', indent([padding, content]), padding, '}']
  }

  #tuple(items: readonly Expression[], end: number): Doc {
    const [only] = items
    if (items.length !== 1 || only === undefined) return this.list('(', items, ')', end, item => this.expression(item))
    return ['(', this.expression(only), ',)']
  }

  #entries(name: string, entries: readonly ObjectEntry[], start: number, end: number): Doc {
    const first = entries[0]
    const isExpanded = first !== undefined && this.hasBreak(start, first.start)
    const print = ({ key, value }: ObjectEntry): Doc => {
      const label = 'text' in key ? key.text : this.string(key)
      return value === null ? label : [label, ': ', this.expression(value)]
    }
    const padding = isExpanded ? hardline : line
    return this.list(`${name}{`, entries, '}', end, print, padding, isExpanded)
  }

  #isInline(node: If): boolean {
    if (this.hasBreak(node.start, node.end)) return false
    for (let each: If | Block | null = node; each !== null; each = each.kind === 'If' ? each.else : null) {
      const block: Block = each.kind === 'If' ? each.then : each
      if (block.statements.length > 1) return false
    }
    return true
  }

  /** Prints an `if` with all of its branches on one line, or with none. */
  #if(node: If, inline: boolean): Doc {
    const padding = inline ? line : hardline
    const parts: Doc[] = []
    let each: If | Block | null = node
    while (each !== null) {
      if (each.kind === 'Block') {
        parts.push(this.#shortBlock(each, padding))
        break
      }
      parts.push(['if ', this.expression(each.condition), ' ', this.#shortBlock(each.then, padding)])
      if (each.else !== null) parts.push(' else ')
      each = each.else
    }
    return group(parts)
  }

  #match({ subject, arms, end }: Extract<Expression, { kind: 'Match' }>): Doc {
    const head = ['match ', this.expression(subject), ' ']
    const content = this.lines(arms, end - 1, arm => this.#arm(arm))
    return content.length === 0 ? [head, '{}'] : [head, '{', indent([hardline, content]), hardline, '}']
  }

  #arm({ patterns, guard, body }: MatchArm): Doc {
    const head = [
      patterns.map(each => this.pattern(each)).join(' | '),
      guard === null ? '' : [' if ', this.expression(guard)],
      ' => '
    ]
    return [head, isStatement(body) ? this.statement(body) : this.expression(body)]
  }

  #for({ binding, index, iterable, key, body }: For): Doc {
    return [
      'for ',
      this.pattern(binding),
      index === null ? '' : `, ${index.text}`,
      ' in ',
      this.expression(iterable),
      key === null ? '' : [' key=', this.expression(key)],
      this.#body(body, continuesValue)
    ]
  }

  /** Prints a body after its head. It goes on a separate line if it would otherwise continue the head. */
  #body(body: Expression, continues: (first: Expression) => boolean): Doc {
    let first = body
    for (let next = leftOf(first); next !== null; next = leftOf(first)) first = next
    const printed = this.expression(body)
    return continues(first) ? indent([hardline, printed]) : [' ', printed]
  }

  #lambda({ form, isCancellable, params, result, body }: Lambda): Doc {
    const [only] = params
    const isBare =
      form === 'arrow' && params.length === 1 && only !== undefined && only.type === null && only.value === null
    if (form === 'fn') {
      const continues = (first: Expression): boolean => result !== null && first.kind === 'List'
      return [
        isCancellable ? '@cancellable fn' : 'fn',
        this.params(params, body.start),
        this.result(result),
        this.#body(body, continues)
      ]
    }
    const head = isBare ? only.name.text : this.params(params, body.start)
    return [head, ' => ', this.expression(body)]
  }

  /** Prints a chain of operators of one precedence, which break together: after each operator, or before each pipe. */
  #binary(node: Binary): Doc {
    const rest: { readonly operator: Binary['operator']; readonly right: Expression }[] = []
    const level = BINARY[node.operator]
    let left: Expression = node
    while (left.kind === 'Binary' && BINARY[left.operator] === level) {
      rest.push(left)
      left = left.left
    }
    const first = this.expression(left)
    const others = rest.reverse().map(({ operator, right }): Doc => {
      return operator === '|>' ? [line, '|> ', this.expression(right)] : [` ${operator}`, line, this.expression(right)]
    })
    return group([first, indent(others)])
  }

  #chain(node: Postfix): Doc {
    const links: Postfix[] = []
    let base: Expression = node
    while (isPostfix(base)) {
      links.push(base)
      base = baseOf(base)
    }
    links.reverse()
    const calls = links.filter((link, index) => link.kind === 'Call' && links[index - 1]?.kind === 'Member').length
    // `2 .0` accesses the first element of `2`; without the space it would be a float.
    const head: Doc[] = [this.expression(base), base.kind === 'Int' && links[0]?.kind === 'TupleIndex' ? ' ' : '']
    const rest: Doc[] = []
    let seen = 0
    for (const [index, link] of links.entries()) {
      const isStep = link.kind === 'Member' && links[index + 1]?.kind === 'Call'
      const part = this.#link(link)
      if (isStep) seen++
      if (seen < 2) head.push(part)
      else rest.push(isStep ? [softline, part] : part)
    }
    return calls < LONG_CHAIN ? [head, rest.map(withoutBreak)] : group([head, indent(rest)])
  }

  #link(link: Postfix): Doc {
    switch (link.kind) {
      case 'Member':
        return `.${link.property.text}`
      case 'TupleIndex':
        return `.${link.index}`
      case 'IndexAccess':
        return ['[', this.expression(link.index), ']']
      case 'Try':
        return '?'
      case 'Call':
        return this.arguments(link.args, link.end)
    }
  }

  protected arguments(args: readonly Argument[], end: number): Doc {
    const print = ({ name, value }: Argument): Doc => [name === null ? '' : `${name.text}=`, this.expression(value)]
    const last = args.at(-1)
    if (last === undefined || !hugs(last.value) || this.hasCommentBefore(last.value.start)) {
      return this.list('(', args, ')', end, print)
    }
    const printed = args.map(print)
    if (printed.slice(0, -1).some(mustBreak)) {
      return group(['(', indent([softline, join([',', line], printed)]), softline, ')'])
    }
    return ['(', join(', ', printed), ')']
  }
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
