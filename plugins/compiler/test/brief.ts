import { type Expression, parse, type Statement } from '#syntax'

/** Formats an expression in prefix notation: `(+ a (* b c))`. Other nodes are printed as their kind or source. */
export function brief(source: string): string {
  const text = `fn f() { ${source}\n }`
  const { module, diagnostics } = parse(text)
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('; '))
  const [item] = module.items
  if (item?.kind !== 'Function' || item.body === null) throw new Error('the source has no function')
  return item.body.statements.map(statement => ofStatement(statement, text)).join(' ; ')
}

function ofStatement(node: Statement, text: string): string {
  if (node.kind === 'ExpressionStatement') return of(node.expression, text)
  if (node.kind === 'Assign') return `(${node.operator} ${of(node.target, text)} ${of(node.value, text)})`
  if (node.kind === 'Let') return `(let ${text.slice(node.pattern.start, node.pattern.end)} ${of(node.value, text)})`
  if (node.kind === 'Return') return node.value === null ? '(return)' : `(return ${of(node.value, text)})`
  return node.kind
}

function of(node: Expression, text: string): string {
  switch (node.kind) {
    case 'Binary':
      return `(${node.operator} ${of(node.left, text)} ${of(node.right, text)})`
    case 'Unary':
      return `(${node.operator} ${of(node.operand, text)})`
    case 'With':
      return `(with ${of(node.operand, text)} ${of(node.options, text)})`
    case 'Call':
      return `(call ${[node.callee, ...node.args.map(({ value }) => value)].map(each => of(each, text)).join(' ')})`
    case 'Member':
      return `(. ${of(node.object, text)} ${node.property.text})`
    case 'TupleIndex':
      return `(. ${of(node.object, text)} ${node.index})`
    case 'IndexAccess':
      return `(at ${of(node.object, text)} ${of(node.index, text)})`
    case 'Try':
      return `(? ${of(node.operand, text)})`
    case 'Paren':
      return of(node.inner, text)
    case 'Block':
      return `{${node.statements.map(each => ofStatement(each, text)).join(' ; ')}}`
    case 'Lambda':
      return `(fn ${node.params.map(({ name }) => name.text).join(' ')} -> ${of(node.body, text)})`
    case 'Element':
      return `<${node.tag.text}${node.attributes.map(each => ` ${each.name.text}`).join('')}>${(node.children ?? []).map(each => of(each, text)).join(',')}`
    case 'Object':
    case 'Struct':
    case 'Tuple':
    case 'List':
    case 'If':
    case 'Match':
    case 'For':
    case 'Spawn':
    case 'Unit':
      return node.kind
    default:
      return text.slice(node.start, node.end)
  }
}
