import type { JsonSchema, OperationDescriptor } from '@svc/plugin-sdk'
import { choicesOf, fieldOf, requiredOf, typeOf } from './arguments.ts'
import { type PlainText, withoutMarkdown } from './plain-text.ts'
import { renderTable } from './table.ts'
import type { Terminal } from './terminal.ts'

/** Renders the help of `svc call ID --help`: input, output and errors of an operation. */
export function describeOperation(
  plugin: string,
  descriptor: OperationDescriptor,
  terminal: Terminal,
  plain: PlainText = withoutMarkdown
): string {
  const { id, summary, description, input, output, events, errors, effect, scopes, shown } = descriptor
  const heading = (text: string): string => terminal.paint('bold', text)
  const fields = (name: string, schema: JsonSchema): string[] => [
    '',
    heading(`${name}:`),
    fieldTable(schema, terminal, plain)
  ]
  const codes = Object.entries(errors).map(([code, { message, status = 500 }]) => ({ code, status, message }))
  return [
    `${heading(id)}  ${plain(summary)}`,
    ...(description === undefined ? [] : ['', plain(description)]),
    '',
    `plugin ${plugin}, effect ${effect}${scopes.length === 0 ? '' : `, scopes ${scopes.join(', ')}`}`,
    `on ${shown.join('; ') || 'no surface; run it with svc call'}`,
    ...fields('input', input),
    ...fields('output', output),
    ...(events === undefined ? [] : fields('events', events)),
    ...(codes.length === 0 ? [] : ['', heading('errors:'), renderTable(codes, ['code', 'status', 'message'], terminal)])
  ].join('\n')
}

function fieldTable(schema: JsonSchema, terminal: Terminal, plain: PlainText): string {
  const names = Object.keys((schema.properties as object | undefined) ?? {})
  if (names.length === 0) return typeName(schema)
  const required = requiredOf(schema)
  const rows = names.map(name => {
    const field = fieldOf(schema, name)
    const fallback = field.default === undefined ? '' : JSON.stringify(field.default)
    const need = required.has(name) ? 'required' : ''
    return {
      field: name,
      type: typeName(field),
      default: fallback || need,
      about: plain(String(field.description ?? ''))
    }
  })
  return renderTable(rows, ['field', 'type', 'default', 'about'], terminal)
}

function typeName(schema: JsonSchema): string {
  const choices = choicesOf(schema)
  if (choices !== undefined) return choices.map(each => JSON.stringify(each)).join(' | ')
  const type = typeOf(schema)
  if (type === 'array') return `${typeName((schema.items ?? {}) as JsonSchema)}[]`
  return type ?? 'any'
}
