import type { Hir } from '@svc/contracts'

/** Prints a type: `List[int]`, `fn(int) str`, `{ a: int }`. */
export function typeText(type: Hir.Type): string {
  switch (type.kind) {
    case 'named':
      return type.args.length === 0 ? type.name : `${type.name}[${type.args.map(typeText).join(', ')}]`
    case 'fn':
      return `fn(${type.params.map(typeText).join(', ')}) ${typeText(type.result)}`
    case 'tuple':
      return `(${type.items.map(typeText).join(', ')})`
    case 'record':
      return `{ ${type.fields.map(([name, each]) => `${name}: ${typeText(each)}`).join(', ')} }`
    case 'param':
      return `'${type.name}`
    default:
      return type.kind
  }
}

/** Prints the code of a body: a statement a line. `%0` is the first variable, `^` marks captured ones. */
export function bodyText(body: Hir.Body): string {
  const params = body.params.map((id, index) => {
    const value = body.defaults[index]
    return `${local(body, id)}${value ? ` = ${new Printer(body).expr(value)}` : ''}`
  })
  return `(${params.join(', ')}) ${new Printer(body).block(body.block)}`
}

function local({ locals }: Hir.Body, id: Hir.LocalId): string {
  const { name, type, isMutable, isCaptured } = locals[id] as Hir.Local
  return `${isMutable ? 'mut ' : ''}${name}%${id}${isCaptured ? '^' : ''}: ${typeText(type)}`
}

class Printer {
  readonly #body: Hir.Body

  constructor(body: Hir.Body) {
    this.#body = body
  }

  block(block: Hir.Block): string {
    return `{ ${block.map(statement => this.stmt(statement)).join('; ')} }`
  }

  stmt(node: Hir.Stmt): string {
    switch (node.kind) {
      case 'Let':
        return `let ${this.pattern(node.pattern)} = ${this.expr(node.value)}`
      case 'Update': {
        const { root, path } = node.place
        const steps = path.map(step => ('field' in step ? `.${step.field}` : `[${this.expr(step.index)}]`))
        const name = typeof root === 'number' ? `%${root}` : `state.${root.state}`
        return `${name}${steps.join('')} ${node.operator ?? ''}= ${this.expr(node.value)}`
      }
      case 'Return':
        return node.value === null ? 'return' : `return ${this.expr(node.value)}`
      case 'Expr':
        return this.expr(node.value)
      case 'While':
        return `while ${this.expr(node.condition)} ${this.block(node.body)}`
      case 'Loop':
        return `loop ${this.block(node.body)}`
      default:
        return node.kind.toLowerCase()
    }
  }

  pattern(node: Hir.Pattern): string {
    switch (node.kind) {
      case 'Wildcard':
        return '_'
      case 'Bind':
        return local(this.#body, node.local)
      case 'Variant':
        return `${node.name}(${node.args.map(arg => this.pattern(arg)).join(', ')})`
      case 'Tuple':
        return `(${node.items.map(item => this.pattern(item)).join(', ')})`
      case 'Literal':
        return this.expr(node.value)
    }
  }

  all(nodes: readonly Hir.Expr[]): string {
    return nodes.map(node => this.expr(node)).join(', ')
  }

  fields(fields: readonly Hir.NamedExpr[]): string {
    return fields.map(([name, value]) => `${name}: ${this.expr(value)}`).join(', ')
  }

  args({
    args,
    params,
    options = null
  }: Omit<Hir.Arguments, 'options'> & { readonly options?: Hir.Expr | null }): string {
    const given = args.map((arg, index) => `${params[index] === index ? '' : `#${params[index]} `}${this.expr(arg)}`)
    return `(${given.join(', ')})${options === null ? '' : ` with ${this.expr(options)}`}`
  }

  expr(node: Hir.Expr): string {
    switch (node.kind) {
      case 'Int':
        return `${node.value}${typeof node.value === 'bigint' ? 'n' : ''}`
      case 'Float':
        return `${node.value}f`
      case 'Decimal':
        return `${node.digits}dec`
      case 'Str':
        return JSON.stringify(node.value)
      case 'Bool':
        return String(node.value)
      case 'Unit':
        return '()'
      case 'Tuple':
        return `tuple(${this.all(node.items)})`
      case 'List':
        return `[${this.all(node.items)}]`
      case 'Record':
        return `{ ${this.fields(node.fields)} }`
      case 'Map':
        return `map { ${this.fields(node.entries)} }`
      case 'Struct':
        return `${node.name} { ${this.fields(node.fields)} }`
      case 'Variant':
        return `${node.name}${this.args({ args: node.args, params: node.fields })}`
      case 'Local':
        return `%${node.local}`
      case 'State':
        return `state.${node.field}`
      case 'Constant':
        return `const.${node.name}`
      case 'Function':
        return `fn.${node.name}`
      case 'Native':
        return `native.${node.native}`
      case 'Constructor':
        return `constructor.${node.name}`
      case 'Request':
        return 'request'
      case 'Unresolved':
        return `?${node.name}`
      case 'Binary':
      case 'Logical':
        return `(${this.expr(node.left)} ${node.operator} ${this.expr(node.right)})`
      case 'Unary':
        return `${node.operator}(${this.expr(node.operand)})`
      case 'Call':
        return `${node.name}${this.args(node)}`
      case 'CallValue':
        return `call ${this.expr(node.callee)}${this.args(node)}`
      case 'CallNative': {
        const params = node.args.map((_, index) => index)
        const receiver = node.receiver === null ? '' : `${this.expr(node.receiver)} `
        return `${receiver}native.${node.native}${this.args({ ...node, params })}`
      }
      case 'CallHandler':
        return `${this.expr(node.target)} ${node.isSend ? 'send' : 'ask'} ${node.actor}.${node.event}${this.args(node)}`
      case 'CallMethod': {
        const args = node.args.map(
          (arg, index) => `${node.names?.[index] ? `${node.names[index]}: ` : ''}${this.expr(arg)}`
        )
        return `${this.expr(node.receiver)} dynamic.${node.method}(${args.join(', ')})`
      }
      case 'Field':
        return `${this.expr(node.object)}.${node.name}`
      case 'Item':
        return `${this.expr(node.object)}.${node.index}`
      case 'Index':
        return `${this.expr(node.object)}[${this.expr(node.index)}]`
      case 'Db': {
        const { plan, args, limit, offset, page, keepsResult } = node
        const values = args.map(({ name, value }) => `${name === null ? '' : `${name}: `}${this.expr(value)}`)
        const rest = Object.entries({ limit, offset, size: page?.size, cursor: page?.cursor }).flatMap(
          ([name, value]) => (value ? [`${name} ${this.expr(value)}`] : [])
        )
        return `db${keepsResult ? '?' : ''}.${node.table}.${plan.op}(${[...values, ...rest].join(', ')})`
      }
      case 'RawSql':
        return `sql${node.keepsResult ? '?' : ''}(${this.all(node.values === null ? [node.sql] : [node.sql, node.values])})`
      case 'Match': {
        const arms = node.arms.map(({ patterns, guard, body }) => {
          const test = guard === null ? '' : ` if ${this.expr(guard)}`
          return `${patterns.map(each => this.pattern(each)).join(' | ')}${test} -> ${this.expr(body)}`
        })
        return `match ${this.expr(node.subject)} { ${arms.join('; ')} }`
      }
      case 'If': {
        const other = node.otherwise === null ? '' : ` else ${this.block(node.otherwise)}`
        return `if ${this.expr(node.condition)} ${this.block(node.then)}${other}`
      }
      case 'For': {
        const index = node.index === null ? '' : `, ${local(this.#body, node.index)}`
        const key = node.key === null ? '' : ` key ${this.expr(node.key)}`
        return `for ${this.pattern(node.binding)}${index} in ${this.expr(node.iterable)}${key} ${this.expr(node.body)}`
      }
      case 'Lambda': {
        const params = node.params.map((id, index) => {
          const value = node.defaults[index]
          return `${local(this.#body, id)}${value ? ` = ${this.expr(value)}` : ''}`
        })
        const captures = node.captures.length === 0 ? '' : ` captures ${node.captures.map(id => `%${id}`).join(' ')}`
        return `fn(${params.join(', ')})${captures} ${this.expr(node.body)}`
      }
      case 'Spawn':
        return `spawn ${node.actor}${this.args(node)}`
      case 'Block':
        return this.block(node.block)
      case 'Try':
        return `${this.expr(node.operand)}?`
      case 'SideEffect':
        return `side_effect ${this.block(node.block)}`
      case 'Convert': {
        const to = node.conversion === 'checked' || node.conversion === 'struct' ? ` ${typeText(node.type)}` : ''
        return `${node.conversion}${to}(${this.expr(node.operand)})`
      }
      case 'Element': {
        const attributes = node.attributes.map(
          ({ name, value }) => ` ${name}${value === null ? '' : `=${this.expr(value)}`}`
        )
        const children = node.children === null ? '/' : ` [${this.all(node.children)}]`
        return `<${node.tag}${attributes.join('')}${children}>`
      }
      case 'Fragment':
        return `<>[${this.all(node.children)}]`
    }
  }
}
