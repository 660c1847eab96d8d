import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { FormField, Module } from '../syntax/ast.ts'

/** Reports fields without a label. A build derives a label from the name. */
export function checkForms({ items }: Module): Diagnostic[] {
  return items.flatMap(item => {
    if (item.kind !== 'Form') return []
    return item.items.flatMap(field => (field.kind === 'FormField' ? withoutLabel(field) : []))
  })
}

function withoutLabel({ name, type, rules }: FormField): Diagnostic[] {
  const rule = rules.find(each => each.name.text === 'label')
  const text = rule?.args?.[0]
  if (text !== undefined && (text.kind !== 'String' || text.value.trim() !== '')) return []
  const label = `label("${readable(name.text)}")`
  // There is no fix for an empty label: only the author knows the text.
  const fixes =
    rule === undefined
      ? [{ label: `add ${label}`, span: { start: type.end, end: type.end }, replacement: ` ${label}` }]
      : []
  const message = `the field \`${name.text}\` has no label`
  return [
    diagnostic('vox/form/missing-label', message, rule?.name ?? name, { suggestions: [`write \`${label}\``], fixes })
  ]
}

/** Converts a name to a label: `first_name` to `First name`. */
function readable(name: string): string {
  const words = name.replaceAll('_', ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
