import type { JsonSchema } from '@svc/plugin-sdk'
import { choicesOf, fieldOf, requiredOf, typeOf } from '../../kernel/src/cli/arguments.ts'

/** Returns the lines of a table. Cells are Markdown. Empty without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return []
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)]
}

function line(cells: readonly string[]): string {
  return `| ${cells.map(cell => cell.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`
}

/** Returns the anchor that GitHub and the site derive from a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Escapes characters of a description that Markdown or Vue would read as markup. Text between backticks stays. */
export function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map(part => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;').replaceAll(/\{\{/g, '{&#8203;{')))
    .join('')
}

export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``
}

export interface FieldRow {
  readonly name: string
  readonly type: string
  /** Default as JSON, `required`, or nothing. */
  readonly need: string
  readonly about: string
}

/** Returns the fields of an object schema, without hidden ones. */
export function fieldsOf(schema: JsonSchema): FieldRow[] {
  const required = requiredOf(schema)
  return Object.keys((schema.properties as object | undefined) ?? {})
    .map(name => ({ name, field: fieldOf(schema, name) }))
    .filter(({ field }) => field['x-hidden'] !== true)
    .map(({ name, field }) => {
      const fallback = field.default === undefined ? '' : code(JSON.stringify(field.default))
      const need = fallback || (required.has(name) ? 'required' : '')
      return { name, type: typeName(field), need, about: prose(String(field.description ?? '')) }
    })
}

/** Returns a type as words and codes for a table. */
function typeName(schema: JsonSchema): string {
  const choices = choicesOf(schema)
  if (choices !== undefined) return choices.map(each => code(String(each))).join(', ')
  const type = typeOf(schema)
  if (type === undefined) {
    const branches = Array.isArray(schema.anyOf) ? (schema.anyOf as JsonSchema[]) : []
    return [...new Set(branches.map(typeName))].join(' or ') || 'any'
  }
  if (type !== 'array') return type
  return `list of ${typeName((schema.items ?? {}) as JsonSchema)}`
}
