import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import { bare, entryKey, entryValue } from '../../hir/db/predicate.ts'
import type { Expression, ObjectEntry } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { BodyRule, Place } from './body-rule.ts'

/** Options of activities, and the literals that their values can be written as. */
const OPTIONS: Readonly<Record<string, readonly Expression['kind'][]>> = {
  retries: ['Int'],
  timeout: ['String'],
  activity_id: ['String'],
  id: ['String'],
  initial_backoff: ['String'],
  max_backoff: ['String', 'Int'],
  backoff_multiplier: ['Int', 'Float'],
  meta: ['String'],
  mens: ['String'],
  labels: ['List', 'Object', 'String'],
  detach: ['Bool']
}

const TYPES: Partial<Record<Expression['kind'], string>> = { Int: 'int', String: 'str', Float: 'float', Bool: 'bool' }

const LITERALS: ReadonlySet<string> = new Set(['Int', 'Float', 'Decimal', 'String', 'Bool', 'Unit', 'List', 'Object'])

/** What stands behind `with`, and what it stands behind. */
export class OptionsRule implements BodyRule {
  readonly found: Diagnostic[] = []

  options(given: Expression, operand: Expression | null, place: Place): void {
    const options = bare(given)
    if (options.kind === 'Object') for (const entry of options.entries) this.#option(entry)
    else if (options.kind !== 'Missing') {
      const suggestions = ['write `with { retries: 3 }`']
      this.found.push(
        diagnostic('typecheck.with.not_record', 'options are a record that is written out', given, { suggestions })
      )
    }
    if (operand !== null) this.#operand(bare(operand), place)
  }

  #option(entry: ObjectEntry): void {
    const key = entryKey(entry)
    const value = bare(entryValue(entry))
    if (!Object.hasOwn(OPTIONS, key)) {
      const near = nearName(key, Object.keys(OPTIONS))
      this.found.push(
        diagnostic('typecheck.with.unknown_option', `there is no option \`${key}\``, entry.key, {
          suggestions: [
            `the options are ${Object.keys(OPTIONS)
              .map(name => `\`${name}\``)
              .join(', ')}`
          ],
          ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: entry.key, replacement: near }] })
        })
      )
      return
    }
    const kinds = OPTIONS[key] as readonly Expression['kind'][]
    if (!LITERALS.has(value.kind) || kinds.includes(value.kind)) return
    const expected = kinds.map(kind => TYPES[kind] ?? kind.toLowerCase()).join(' or ')
    const foundType = TYPES[value.kind] ?? value.kind.toLowerCase()
    this.found.push(
      diagnostic('typecheck.with.option_type', `the option \`${key}\` is a ${expected}`, value, {
        expectedType: expected,
        foundType
      })
    )
  }

  /** Only what may fail can be tried again; told where the called function says what it returns. */
  #operand(operand: Expression, place: Place): void {
    if (operand.kind === 'Missing') return
    const callee = operand.kind === 'Call' && operand.callee.kind === 'Identifier' ? operand.callee : null
    const meaning = callee === null ? null : place.meaning(callee.name)
    const result = meaning?.kind === 'module' ? (meaning.entry.signature?.result ?? null) : null
    const isLiteral = LITERALS.has(operand.kind)
    const isOther = result !== null && !(result.kind === 'NamedType' && result.path.at(-1)?.text === 'Result')
    if (!isLiteral && !isOther) return
    this.found.push(
      diagnostic('typecheck.with.operand', 'options stand behind a call that returns a `Result`', operand, {
        suggestions: ['call an activity that returns `Result[…]`']
      })
    )
  }
}
