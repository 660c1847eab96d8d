import { diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Field } from '../../syntax/ast.ts'
import type { ObjectEntry } from '../../syntax/ast-expressions.ts'
import { entryKey, entryValue } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name, Span } from '../../syntax/node.ts'
import { declaredMembers, expectRecords, hasOwnValue } from './expected-records.ts'
import type { Signatures } from './signatures.ts'
import { fits, show, type ValueType } from './type.ts'

/** Compares `Point { x: 1 }` with the declared fields of the type. */
export function checkRecord(
  presentFields: ReadonlyMap<string, ValueType>,
  { name, entries }: { readonly name: Name; readonly entries: readonly ObjectEntry[] },
  type: ValueType,
  signatures: Signatures
): void {
  const fields = signatures.reader.fieldsOf(type)
  if (fields === null) return
  for (const entry of entries) {
    const key = entryKey(entry)
    const expected = fields.get(key)
    const found = presentFields.get(key)
    if (expected !== undefined) expectRecords(entryValue(entry), expected, signatures)
    if (expected === undefined) {
      const near = nearName(key, [...fields.keys()])
      signatures.report(
        diagnostic(
          'typecheck.unknown_field',
          `${show(type)} has no field \`${key}\``,
          entry.key,
          spellingFix(near, entry.key)
        )
      )
    } else if (found !== undefined && !fits(found, expected)) {
      signatures.report(
        diagnostic(
          'typecheck.arg_mismatch',
          `the value does not match the type of \`${key}\` of \`${name.text}\``,
          entryValue(entry),
          {
            expectedType: show(expected),
            foundType: show(found)
          }
        )
      )
    }
  }
  checkMissing(presentFields, declaredMembers(type), name.text, name, signatures)
}

/** Reports required fields without a value. */
export function checkMissing(
  presentFields: ReadonlyMap<string, ValueType>,
  fields: readonly Field[],
  name: string,
  at: Span,
  { report }: Signatures
): void {
  const missing = fields.filter(field => !presentFields.has(field.name.text) && !hasOwnValue(field))
  if (missing.length === 0) return
  const names = missing.map(field => `\`${field.name.text}\``).join(', ')
  const message = `${names} of \`${name}\` ${missing.length === 1 ? 'is' : 'are'} missing`
  const related = missing.map(field => ({ span: field, message: 'declared here' }))
  report(diagnostic('typecheck.missing_field', message, at, { related }))
}
