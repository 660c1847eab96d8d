import type { OperationEntry } from '@svc/contracts'
import type { JsonSchema, OperationDescriptor } from '@svc/plugin-sdk'
import { choiceAt, fieldsOf, inside, listAt, Mistake, textAt, textsAt } from './mistake.ts'
import { fieldNames, fieldShape, itemShape, type Shape, shapeOf } from './schema-path.ts'

/** Operations, pages and parameters that a view may refer to. */
export interface ViewScope {
  readonly operations: ReadonlyMap<string, OperationEntry>
  readonly plugin: string
  /** Paths of the plugin's pages. */
  readonly pages: ReadonlySet<string>
  /** Parameters of the page's path. */
  readonly params: ReadonlySet<string>
}

/** Data with its schema: the output of an operation, or one of its rows. */
interface Data {
  readonly operation: string
  readonly shape: Shape
  readonly root: JsonSchema
  /** How messages call it. */
  readonly name: 'output' | 'row'
}

const FORMATS = [
  'text',
  'code',
  'json',
  'markdown',
  'time',
  'ms',
  'bytes',
  'number',
  'percent',
  'tokens',
  'state',
  'boolean'
] as const
const KINDS = ['table', 'record', 'text', 'log', 'form', 'chart', 'graph', 'timeline', 'stack', 'tabs'] as const
const MAX_NESTING = 8

/** Throws a {@link Mistake} if a view refers to operations or fields that do not exist, or has another form. */
export function checkView(view: unknown, place: string, scope: ViewScope, depth = 0): void {
  if (depth > MAX_NESTING) throw new Mistake(place, `views are nested deeper than ${MAX_NESTING} levels`)
  const { kind } = (view ?? {}) as { readonly kind?: unknown }
  CHECKS[choiceAt(kind, inside(place, 'kind'), KINDS)](view, place, scope, depth)
}

type Check = (view: unknown, place: string, scope: ViewScope, depth: number) => void

const SOURCED = ['kind', 'operation']
const group: Check = (view, place, scope, depth) => {
  const { items } = fieldsOf(view, place, ['kind', 'items'])
  for (const [index, item] of listAt(items, inside(place, 'items')).entries()) {
    const at = `${inside(place, 'items')}[${index}]`
    const { title, view: inner } = fieldsOf(item, at, ['view'], ['title'])
    if (title !== undefined) textAt(title, inside(at, 'title'))
    checkView(inner, inside(at, 'view'), scope, depth + 1)
  }
}

const CHECKS: Readonly<Record<(typeof KINDS)[number], Check>> = {
  table(view, place, scope) {
    const optional = ['input', 'empty', 'rows', 'columns', 'filters', 'of', 'open', 'sort']
    const fields = fieldsOf(view, place, [...SOURCED, 'key'], optional)
    const row = rowOf(fields, place, scope)
    checkField(fields.key, inside(place, 'key'), row)
    checkColumns(fields.columns, inside(place, 'columns'), row, scope)
    checkFilters(fields.filters, inside(place, 'filters'), row)
    checkOptionalText(fields.of, inside(place, 'of'))
    checkLink(fields.open, inside(place, 'open'), scope, row)
    if (fields.sort !== undefined) {
      const at = inside(place, 'sort')
      checkField(textAt(fields.sort, at).replace(/^-/, ''), at, row)
    }
  },
  record(view, place, scope) {
    const fields = fieldsOf(view, place, SOURCED, ['input', 'empty', 'field', 'name', 'columns', 'of'])
    const output = outputOf(fields, place, scope)
    const { field } = fields
    const record = field === undefined ? output : innerData(field, inside(place, 'field'), output)
    if (fields.name !== undefined) checkField(fields.name, inside(place, 'name'), record)
    checkColumns(fields.columns, inside(place, 'columns'), record, scope)
    checkOptionalText(fields.of, inside(place, 'of'))
  },
  text(view, place, scope) {
    const fields = fieldsOf(view, place, [...SOURCED, 'field'], ['input', 'empty', 'format'])
    checkField(fields.field, inside(place, 'field'), outputOf(fields, place, scope))
    if (fields.format !== undefined)
      choiceAt(fields.format, inside(place, 'format'), ['text', 'markdown', 'code', 'json'])
  },
  log(view, place, scope) {
    const optional = ['input', 'empty', 'rows', 'key', 'level', 'columns', 'filters']
    const fields = fieldsOf(view, place, [...SOURCED, 'time', 'message'], optional)
    const row = rowOf(fields, place, scope)
    checkFieldsOf(fields, ['time', 'message', 'level'], place, row)
    const { watch } = operationOf(fields.operation, place, scope)
    if (fields.key !== undefined || watch?.mode === 'delta') checkField(fields.key ?? 'key', inside(place, 'key'), row)
    checkColumns(fields.columns, inside(place, 'columns'), row, scope)
    checkFilters(fields.filters, inside(place, 'filters'), row)
  },
  form(view, place, scope) {
    const fields = fieldsOf(view, place, SOURCED, ['input', 'empty', 'submit', 'next'])
    const operation = operationOf(fields.operation, inside(place, 'operation'), scope)
    checkBindings(fields.input, inside(place, 'input'), operation, scope, null)
    checkOptionalText(fields.empty, inside(place, 'empty'))
    checkOptionalText(fields.submit, inside(place, 'submit'))
    // Parameters of the next page come from the output.
    checkLink(fields.next, inside(place, 'next'), scope, dataOf(operation))
  },
  chart(view, place, scope) {
    const fields = fieldsOf(view, place, [...SOURCED, 'x', 'series'], ['input', 'empty', 'rows', 'filters'])
    const row = rowOf(fields, place, scope)
    checkField(fields.x, inside(place, 'x'), row)
    for (const [index, each] of listAt(fields.series, inside(place, 'series')).entries()) {
      const at = `${inside(place, 'series')}[${index}]`
      const { field, label, format } = fieldsOf(each, at, ['field', 'label'], ['format'])
      checkField(field, inside(at, 'field'), row)
      textAt(label, inside(at, 'label'))
      if (format !== undefined) choiceAt(format, inside(at, 'format'), FORMATS)
    }
    checkFilters(fields.filters, inside(place, 'filters'), row)
  },
  graph(view, place, scope) {
    const fields = fieldsOf(view, place, [...SOURCED, 'nodes', 'edges'], ['input', 'empty', 'fields', 'open'])
    const output = outputOf(fields, place, scope)
    const node = itemsOf(fields.nodes, inside(place, 'nodes'), output)
    const edge = itemsOf(fields.edges, inside(place, 'edges'), output)
    const at = inside(place, 'fields')
    const renamed = fieldsOf(fields.fields ?? {}, at, [], ['id', 'label', 'state', 'from', 'to', 'edgeLabel'])
    for (const [name, data] of [
      ['id', node],
      ['from', edge],
      ['to', edge]
    ] as const)
      checkField(renamed[name] ?? name, inside(at, name), data)
    for (const [name, data] of [
      ['label', node],
      ['state', node],
      ['edgeLabel', edge]
    ] as const)
      if (renamed[name] !== undefined) checkField(renamed[name], inside(at, name), data)
    checkLink(fields.open, inside(place, 'open'), scope, node)
  },
  timeline(view, place, scope) {
    const optional = ['input', 'empty', 'rows', 'state', 'label', 'depth', 'columns']
    const fields = fieldsOf(view, place, [...SOURCED, 'lane', 'start', 'end'], optional)
    const row = rowOf(fields, place, scope)
    checkFieldsOf(fields, ['lane', 'start', 'end', 'state', 'label', 'depth'], place, row)
    checkColumns(fields.columns, inside(place, 'columns'), row, scope)
  },
  stack: group,
  tabs: group
}

/** Returns an operation. Throws a {@link Mistake} if it does not exist. */
export function operationOf(
  id: unknown,
  place: string,
  { operations }: Pick<ViewScope, 'operations'>
): OperationDescriptor {
  const entry = operations.get(textAt(id, place))
  if (entry !== undefined) return entry.descriptor
  throw new Mistake(place, `no running plugin has the operation ${id}`)
}

/** Checks that each binding sets a field that the operation's input has, from something that exists. */
export function checkBindings(
  value: unknown,
  place: string,
  { id, input }: OperationDescriptor,
  scope: ViewScope,
  row: Data | null | 'unknown'
): void {
  const shape = shapeOf(input)
  for (const [name, binding] of Object.entries(objectAt(value ?? {}, place))) {
    if (fieldShape(shape, name, input) === null)
      throw new Mistake(inside(place, name), `${id} has no such input field${known(shape)}`)
    checkBinding(binding, inside(place, name), scope, row)
  }
}

function checkBinding(value: unknown, place: string, { params }: ViewScope, row: Data | null | 'unknown'): void {
  if (typeof value === 'object' && value !== null && 'value' in value) {
    fieldsOf(value, place, [], ['value'])
    return
  }
  const { from, name } = fieldsOf(value, place, ['from', 'name'])
  const source = choiceAt(from, inside(place, 'from'), ['route', 'row', 'filter'])
  const text = textAt(name, inside(place, 'name'))
  if (source === 'route' && !params.has(text))
    throw new Mistake(inside(place, 'name'), `the page's path has no parameter :${text}`)
  if (source !== 'row' || row === 'unknown') return
  if (row === null) throw new Mistake(inside(place, 'from'), 'there is no row here')
  checkField(text, inside(place, 'name'), row)
}

/** Checks a link. Pages of other plugins may be missing; those of the same plugin may not. */
export function checkLink(value: unknown, place: string, scope: ViewScope, row: Data | null): void {
  if (value === undefined) return
  const { page, params } = fieldsOf(value, place, ['page'], ['params'])
  const path = textAt(page, inside(place, 'page'))
  const isOwn = path === scope.plugin || path.startsWith(`${scope.plugin}/`)
  if (isOwn && !scope.pages.has(path))
    throw new Mistake(inside(place, 'page'), `the plugin ${scope.plugin} contributes no page ${path}`)
  const bound = objectAt(params ?? {}, inside(place, 'params'))
  for (const [name, binding] of Object.entries(bound))
    checkBinding(binding, `${inside(place, 'params')}.${name}`, scope, row)
  for (const name of paramsOf(path))
    if (bound[name] === undefined) throw new Mistake(inside(place, 'params'), `it sets no value for :${name}`)
}

/** Returns the parameters of a page's path. */
export function paramsOf(path: string): string[] {
  return path.split('/').flatMap(part => (part.startsWith(':') ? [part.slice(1)] : []))
}

function outputOf(fields: Readonly<Record<string, unknown>>, place: string, scope: ViewScope): Data {
  const operation = operationOf(fields.operation, inside(place, 'operation'), scope)
  if (operation.effect !== 'read')
    throw new Mistake(
      inside(place, 'operation'),
      `${operation.id} has the effect ${operation.effect}, and a view only reads; use a form or an action`
    )
  checkBindings(fields.input, inside(place, 'input'), operation, scope, null)
  const bound = (fields.input ?? {}) as object
  for (const name of (operation.input.required ?? []) as readonly string[])
    if (!(name in bound))
      throw new Mistake(inside(place, 'input'), `it does not bind ${name}, which ${operation.id} requires`)
  checkOptionalText(fields.empty, inside(place, 'empty'))
  return dataOf(operation)
}

function rowOf(fields: Readonly<Record<string, unknown>>, place: string, scope: ViewScope): Data {
  const output = outputOf(fields, place, scope)
  const at = inside(place, 'rows')
  const { watch } = operationOf(fields.operation, place, scope)
  if (watch?.mode === 'delta') {
    if (fields.rows !== undefined) throw new Mistake(at, 'a delta operation has its rows in upsert; leave rows out')
    return itemsOf('upsert', at, output)
  }
  return fields.rows === undefined ? itemsOf(undefined, at, output) : itemsOf(fields.rows, at, output)
}

/** Returns the items of an array in the output. Path undefined: the output itself. */
function itemsOf(path: unknown, place: string, output: Data): Data {
  const list = path === undefined ? output : innerData(path, place, output)
  const items = itemShape(list.shape, list.root)
  if (items === null) throw new Mistake(place, `${path ?? 'the whole output'} of ${output.operation} is not an array`)
  return { ...output, shape: items, name: 'row' }
}

function dataOf({ id, output }: OperationDescriptor): Data {
  return { operation: id, shape: shapeOf(output), root: output, name: 'output' }
}

function innerData(path: unknown, place: string, data: Data): Data {
  const text = textAt(path, place)
  const shape = fieldShape(data.shape, text, data.root)
  if (shape === null)
    throw new Mistake(place, `the ${data.name} of ${data.operation} has no field ${text}${known(data.shape)}`)
  return { ...data, shape }
}

function checkField(path: unknown, place: string, data: Data): void {
  innerData(path, place, data)
}

function checkFieldsOf(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
  place: string,
  data: Data
): void {
  for (const name of names) if (fields[name] !== undefined) checkField(fields[name], inside(place, name), data)
}

function checkColumns(value: unknown, place: string, data: Data, scope: ViewScope): void {
  if (value === undefined) return
  for (const [index, column] of listAt(value, place).entries()) {
    const at = `${place}[${index}]`
    const { field, title, format, link } = fieldsOf(column, at, ['field'], ['title', 'format', 'link'])
    checkField(field, inside(at, 'field'), data)
    checkOptionalText(title, inside(at, 'title'))
    if (format !== undefined) choiceAt(format, inside(at, 'format'), FORMATS)
    checkLink(link, inside(at, 'link'), scope, data)
  }
}

function checkFilters(value: unknown, place: string, data: Data): void {
  if (value === undefined) return
  for (const [index, filter] of listAt(value, place).entries()) {
    const at = `${place}[${index}]`
    const fields = fieldsOf(filter, at, ['name', 'label'], ['choices', 'field', 'default'])
    textAt(fields.name, inside(at, 'name'))
    textAt(fields.label, inside(at, 'label'))
    if (fields.choices !== undefined) textsAt(fields.choices, inside(at, 'choices'))
    if (fields.default !== undefined) textAt(fields.default, inside(at, 'default'))
    if (fields.field !== undefined) checkField(fields.field, inside(at, 'field'), data)
  }
}

function checkOptionalText(value: unknown, place: string): void {
  if (value !== undefined) textAt(value, place)
}

function objectAt(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Mistake(place, 'it is not an object')
  return value as Record<string, unknown>
}

function known(shape: Shape): string {
  const names = fieldNames(shape)
  return names.length === 0 ? '' : `; known fields: ${names.join(', ')}`
}
