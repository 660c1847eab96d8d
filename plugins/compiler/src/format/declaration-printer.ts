import { type Doc, hardline, indent, join, line } from '../doc/doc.ts'
import type {
  Activity,
  Declaration,
  Decorator,
  Field,
  FunctionDeclaration,
  Handler,
  HttpRoute,
  ImportItem,
  Index,
  StateField,
  Table,
  TypeDeclaration,
  Variant,
  Workflow
} from '../syntax/ast.ts'
import { StatementPrinter } from './statement-printer.ts'

/** Prints declarations of data and behaviour. */
export abstract class DeclarationPrinter extends StatementPrinter {
  /** Prints decorators on separate lines, and `pub`. */
  protected prefix({ decorators, isPublic }: { decorators: readonly Decorator[]; isPublic: boolean }): Doc {
    return [decorators.map((each): Doc => [this.decorator(each), hardline]), isPublic ? 'pub ' : '']
  }

  protected decorator({ name, args, strings, end }: Decorator): Doc {
    const printedArgs =
      args === null
        ? ''
        : this.list('(', args, ')', end, each => [
            each.name === null ? '' : `${each.name.text}: `,
            this.expression(each.value)
          ])
    return [`@${name.text}`, printedArgs, strings.map((each): Doc => ` ${this.string(each)}`)]
  }

  /** Prints members in braces, one per line. */
  protected braces<N extends { readonly start: number; readonly end: number }>(
    items: readonly N[],
    end: number,
    print: (item: N) => Doc
  ): Doc {
    const content = this.lines(items, end - 1, print)
    return content.length === 0 ? '{}' : ['{', indent([hardline, content]), hardline, '}']
  }

  protected fields(fields: readonly Field[], start: number, end: number): Doc {
    const inline = !this.hasBreak(start, end) && !this.hasCommentBefore(end)
    if (!inline || fields.length === 0) return this.braces(fields, end, field => this.field(field))
    return this.list('{', fields, '}', end, field => this.field(field), line)
  }

  protected field({ decorators, name, isOptional, type, value }: Field): Doc {
    return [
      decorators.map((each): Doc => [this.decorator(each), ' ']),
      name.text,
      isOptional ? '?' : '',
      this.annotation(type),
      value === null ? '' : [' = ', this.expression(value)]
    ]
  }

  protected import(items: readonly ImportItem[]): Doc {
    return [
      'import ',
      join(
        ', ',
        items.map(item => this.#importItem(item))
      )
    ]
  }

  #importItem(item: ImportItem): string {
    if (item.kind === 'ReactImport') return `react ${item.name.text} from ${this.string(item.source)}`
    const alias = item.alias === null ? '' : ` as ${item.alias.text}`
    if (item.kind === 'RustImport') {
      const metadata = item.metadata.map(({ key, value }) => `${key.text}: ${this.string(value)}`).join(', ')
      return `rust:${item.crate.text}${metadata === '' ? '' : `(${metadata})`}${alias}`
    }
    const path = item.path.map(({ text }) => text).join(item.separator)
    if (item.members === null) return `${path}${alias}`
    const members = item.members.map(each => `${each.name.text}${each.alias === null ? '' : ` as ${each.alias.text}`}`)
    return `${path} as { ${members.join(', ')} }`
  }

  protected typeDeclaration(node: TypeDeclaration): Doc {
    const head: Doc = [this.prefix(node), 'type ', node.name.text, this.generics(node.generics)]
    const { definition, end } = node
    if (definition.form === 'alias') return [head, ' = ', this.type(definition.type)]
    if (definition.form === 'struct') return [head, ' ', this.fields(definition.fields, node.name.end, end)]
    const variants = this.lines(definition.variants, end, variant => ['| ', this.#variant(variant)])
    return [head, ' =', indent([hardline, variants])]
  }

  #variant({ name, fields, isRecord, end }: Variant): Doc {
    if (isRecord) return [`${name.text} `, this.fields(fields, name.end, end)]
    if (fields.length === 0) return name.text
    const print = (field: Field): Doc =>
      field.name.start === field.name.end ? this.type(field.type) : this.field(field)
    return [name.text, this.list('(', fields, ')', end, print)]
  }

  protected table(node: Table): Doc {
    const { storage, decorators, isPublic, name, fields, end } = node
    const head = [`@${storage}`, hardline, this.prefix({ decorators, isPublic }), `type ${name.text} `]
    return [head, this.braces(fields, end, field => this.field(field))]
  }

  protected index({ variant, table, name, columns, options }: Index): Doc {
    const decorator = variant === 'btree' ? '@index' : `@${variant}_index`
    const head = `${decorator} ${table.text}.${name.text} on (${columns.map(({ text }) => text).join(', ')})`
    return options === null ? head : [head, ' with ', this.expression(options)]
  }

  protected fn(node: FunctionDeclaration): Doc {
    const { isAsync, name, generics, params, effects, result, body } = node
    return [
      this.prefix(node),
      isAsync ? 'async ' : '',
      `fn ${name.text}`,
      this.generics(generics),
      this.params(params, bodyStart(node)),
      effects.length === 0 ? '' : ` uses ${effects.map(({ text }) => text).join(', ')}`,
      this.result(result),
      body === null ? '' : [' ', this.block(body)]
    ]
  }

  protected httpRoute(node: HttpRoute): Doc {
    const { method, path, params, result, body } = node
    return [
      this.prefix(node),
      `http ${method} `,
      this.string(path),
      params === null ? '' : this.params(params, bodyStart(node)),
      this.result(result),
      ' ',
      this.block(body)
    ]
  }

  protected handler(node: Handler): Doc {
    const { decorators, event, params, result, body } = node
    return [
      this.prefix({ decorators, isPublic: false }),
      `on ${event.text}`,
      this.params(params, bodyStart(node)),
      this.result(result),
      ' ',
      this.block(body)
    ]
  }

  protected stateField({ form, isMutable, name, type, value }: StateField): Doc {
    const word = form === 'plain' ? '' : `${form} ${isMutable ? 'mut ' : ''}`
    return [word, name.text, this.annotation(type), value === null ? '' : [' = ', this.expression(value)]]
  }

  protected procedure(node: Workflow | Activity): Doc {
    const { name, params, result, body } = node
    const options = node.kind === 'Activity' ? node.options : null
    return [
      this.prefix(node),
      `${node.kind === 'Activity' ? 'activity' : 'workflow'} ${name.text}`,
      this.params(params, (result ?? options ?? body).start),
      this.result(result),
      options === null ? '' : [' with ', this.expression(options)],
      ' ',
      this.block(body)
    ]
  }

  /** True if a blank line always separates the two declarations. */
  protected isApart(before: Declaration, after: Declaration): boolean {
    return !isSmall(before) || !isSmall(after) ? after.kind !== 'Index' || before.kind === 'Function' : false
  }
}

/** Returns the offset after the parameters of a function, where its result type or body starts. */
function bodyStart({ result, body, end }: FunctionDeclaration | HttpRoute | Handler): number {
  return (result ?? body)?.start ?? end
}

function isSmall({ kind }: Declaration): boolean {
  return (
    kind === 'Import' || kind === 'Const' || kind === 'Index' || kind === 'ScriptStatement' || kind === 'ExternFunction'
  )
}
