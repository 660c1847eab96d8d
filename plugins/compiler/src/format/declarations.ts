import { commaLine, type Doc, group, hardline, indent, join, line } from '../doc/doc.ts'
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
import { printBlock, printExpression, printParams, stringText } from './body.ts'
import type { Printer } from './printer.ts'
import { annotationText, genericsText, resultText, typeText } from './types.ts'

/** Prints decorators on separate lines, and `pub`. */
export function printPrefix(
  p: Printer,
  { decorators, isPublic }: { decorators: readonly Decorator[]; isPublic: boolean }
): Doc {
  return [decorators.map((each): Doc => [printDecorator(p, each), hardline]), isPublic ? 'pub ' : '']
}

function printDecorator(p: Printer, { name, args, strings, end }: Decorator): Doc {
  const printedArgs =
    args === null
      ? ''
      : p.list('(', args, ')', end, each => [
          each.name === null ? '' : `${each.name.text}: `,
          printExpression(p, each.value)
        ])
  return [`@${name.text}`, printedArgs, strings.map((each): Doc => ` ${stringText(p, each)}`)]
}

/** Prints members in braces, one per line. */
export function printBraces<N extends { readonly start: number; readonly end: number }>(
  p: Printer,
  items: readonly N[],
  end: number,
  print: (item: N) => Doc
): Doc {
  const content = p.lines(items, end - 1, print)
  return content.length === 0 ? '{}' : ['{', indent([hardline, content]), hardline, '}']
}

export function printFields(p: Printer, fields: readonly Field[], start: number, end: number): Doc {
  const inline = !p.hasBreak(start, end) && !p.hasCommentBefore(end)
  if (!inline || fields.length === 0) return printBraces(p, fields, end, field => printField(p, field))
  const printed = fields.map(field => printField(p, field))
  return group(['{', indent([line, join(commaLine, printed)]), line, '}'])
}

function printField(p: Printer, { decorators, name, isOptional, type, value }: Field): Doc {
  return [
    decorators.map((each): Doc => [printDecorator(p, each), ' ']),
    name.text,
    isOptional ? '?' : '',
    annotationText(type),
    value === null ? '' : [' = ', printExpression(p, value)]
  ]
}

export function printImport(p: Printer, items: readonly ImportItem[]): Doc {
  return [
    'import ',
    join(
      ', ',
      items.map(item => importItemText(p, item))
    )
  ]
}

function importItemText(p: Printer, item: ImportItem): string {
  if (item.kind === 'ReactImport') return `react ${item.name.text} from ${stringText(p, item.source)}`
  const alias = item.alias === null ? '' : ` as ${item.alias.text}`
  if (item.kind === 'RustImport') {
    const metadata = item.metadata.map(({ key, value }) => `${key.text}: ${stringText(p, value)}`).join(', ')
    return `rust:${item.crate.text}${metadata === '' ? '' : `(${metadata})`}${alias}`
  }
  const path = item.path.map(({ text }) => text).join(item.separator)
  if (item.members === null) return `${path}${alias}`
  const members = item.members.map(each => `${each.name.text}${each.alias === null ? '' : ` as ${each.alias.text}`}`)
  return `${path} as { ${members.join(', ')} }`
}

export function printTypeDeclaration(p: Printer, node: TypeDeclaration): Doc {
  const head: Doc = [printPrefix(p, node), 'type ', node.name.text, genericsText(node.generics)]
  const { definition, end } = node
  if (definition.form === 'alias') return [head, ' = ', typeText(definition.type)]
  if (definition.form === 'struct') return [head, ' ', printFields(p, definition.fields, node.name.end, end)]
  const variants = p.lines(definition.variants, end, variant => ['| ', printVariant(p, variant)])
  return [head, ' =', indent([hardline, variants])]
}

function printVariant(p: Printer, { name, fields, isRecord, end }: Variant): Doc {
  if (isRecord) return [`${name.text} `, printFields(p, fields, name.end, end)]
  if (fields.length === 0) return name.text
  const print = (field: Field): Doc =>
    field.name.start === field.name.end ? typeText(field.type) : printField(p, field)
  return [name.text, p.list('(', fields, ')', end, print)]
}

export function printTable(p: Printer, node: Table): Doc {
  const { storage, decorators, isPublic, name, fields, end } = node
  const head = [`@${storage}`, hardline, printPrefix(p, { decorators, isPublic }), `type ${name.text} `]
  return [head, printBraces(p, fields, end, field => printField(p, field))]
}

export function printIndex(p: Printer, { variant, table, name, columns, options }: Index): Doc {
  const decorator = variant === 'btree' ? '@index' : `@${variant}_index`
  const head = `${decorator} ${table.text}.${name.text} on (${columns.map(({ text }) => text).join(', ')})`
  return options === null ? head : [head, ' with ', printExpression(p, options)]
}

export function printFunction(p: Printer, node: FunctionDeclaration): Doc {
  const { isAsync, name, generics, params, effects, result, body } = node
  return [
    printPrefix(p, node),
    isAsync ? 'async ' : '',
    `fn ${name.text}`,
    genericsText(generics),
    printParams(p, params, bodyStart(node)),
    effects.length === 0 ? '' : ` uses ${effects.map(({ text }) => text).join(', ')}`,
    resultText(result),
    body === null ? '' : [' ', printBlock(p, body)]
  ]
}

export function printHttpRoute(p: Printer, node: HttpRoute): Doc {
  const { method, path, params, result, body } = node
  return [
    printPrefix(p, node),
    `http ${method} `,
    stringText(p, path),
    params === null ? '' : printParams(p, params, bodyStart(node)),
    resultText(result),
    ' ',
    printBlock(p, body)
  ]
}

export function printHandler(p: Printer, node: Handler): Doc {
  const { decorators, event, params, result, body } = node
  return [
    printPrefix(p, { decorators, isPublic: false }),
    `on ${event.text}`,
    printParams(p, params, bodyStart(node)),
    resultText(result),
    ' ',
    printBlock(p, body)
  ]
}

export function printStateField(p: Printer, { form, isMutable, name, type, value }: StateField): Doc {
  const word = form === 'plain' ? '' : `${form} ${isMutable ? 'mut ' : ''}`
  return [word, name.text, annotationText(type), value === null ? '' : [' = ', printExpression(p, value)]]
}

export function printProcedure(p: Printer, node: Workflow | Activity): Doc {
  const { name, params, result, body } = node
  const options = node.kind === 'Activity' ? node.options : null
  return [
    printPrefix(p, node),
    `${node.kind === 'Activity' ? 'activity' : 'workflow'} ${name.text}`,
    printParams(p, params, (result ?? options ?? body).start),
    resultText(result),
    options === null ? '' : [' with ', printExpression(p, options)],
    ' ',
    printBlock(p, body)
  ]
}

/** True if a blank line always separates the two declarations. */
export function isApart(before: Declaration, after: Declaration): boolean {
  return !isSmall(before) || !isSmall(after) ? after.kind !== 'Index' || before.kind === 'Function' : false
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
