import type { Hir } from '@svc/contracts'
import type { Expression } from '../syntax/ast-expressions.ts'
import type { Form, FormField } from '../syntax/ast-web.ts'
import { literalOf } from './literals.ts'
import { lowerType } from './lower-types.ts'
import type { ModuleScope } from './module-scope.ts'

/** Lowers the fields of a form, and what happens to its input. */
export function lowerForm({ items }: Form, module: ModuleScope): Pick<Hir.Form, 'fields' | 'submit' | 'redirect'> {
  const handler = items.find(item => item.kind === 'FormSubmit')?.handler
  return {
    fields: items.flatMap(item => (item.kind === 'FormField' ? [lowerField(item, module)] : [])),
    submit: handler === undefined ? null : { name: handler.text, ...module.span(handler) },
    redirect: items.find(item => item.kind === 'FormRedirect')?.path.value ?? null
  }
}

function lowerField({ name, type, rules }: FormField, module: ModuleScope): Hir.FormField {
  return {
    name: name.text,
    annotation: lowerType(type),
    rules: rules.map(({ name, args }) => ({ name: name.text, value: literalValue(args?.[0], module) }))
  }
}

/** Lowers a literal, also a negative number; null for other expressions. */
function literalValue(written: Expression | undefined, module: ModuleScope): Hir.Literal | null {
  if (written === undefined) return null
  const isNegative = written.kind === 'Unary' && written.operator === '-'
  const value = isNegative ? written.operand : written
  const isNumber = value.kind === 'Int' || value.kind === 'Float' || value.kind === 'Decimal'
  if (!isNumber && (isNegative || (value.kind !== 'String' && value.kind !== 'Bool'))) return null
  return literalOf({ value, isNegative }, module.types.any, module.types, module.span(written))
}
