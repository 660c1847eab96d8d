import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Expression, ObjectEntry } from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import { durationProblems } from '../durations.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'

/** An option, and the calls to which it applies. */
interface Option {
  /** Literal kinds that the value may have. */
  readonly kinds: readonly Expression['kind'][]
  /** Allowed strings; null for any. */
  readonly texts: readonly string[] | null
  /** Kinds of calls to which the option applies. */
  readonly appliesTo: readonly Called['kind'][]
}

/** Kinds of calls that accept options. */
interface Called {
  readonly kind: 'activity' | 'mesh' | 'workflow'
  readonly name: string
}

const STEPS = ['activity', 'mesh'] as const

const option = (kinds: Option['kinds'], appliesTo: Option['appliesTo'], texts: Option['texts'] = null): Option => ({
  kinds,
  appliesTo,
  texts
})

const OPTIONS: Readonly<Record<string, Option>> = {
  retries: option(['Int'], STEPS),
  timeout: option(['String'], STEPS),
  activity_id: option(['String'], [...STEPS, 'workflow']),
  id: option(['String'], [...STEPS, 'workflow']),
  initial_backoff: option(['String'], STEPS),
  max_backoff: option(['String', 'Int'], STEPS),
  backoff_multiplier: option(['Int', 'Float'], STEPS),
  meta: option(['String'], STEPS, ['local', 'planning', 'verification', 'reconstruction']),
  mens: option(['String'], ['mesh'], ['noop', 'join', 'snapshot', 'heartbeat', 'dispatch', 'wait']),
  labels: option(['List', 'String'], ['mesh']),
  detach: option(['Bool'], ['workflow'])
}

const DURATIONS: ReadonlySet<string> = new Set(['timeout', 'initial_backoff', 'max_backoff'])

const CALL_KINDS: Readonly<Record<Called['kind'], string>> = {
  activity: 'activities',
  mesh: 'activities of the mesh, which are named `mesh_…`',
  workflow: 'workflows'
}

const TYPES: Partial<Record<Expression['kind'], string>> = { Int: 'int', String: 'str', Float: 'float', Bool: 'bool' }

const LITERALS: ReadonlySet<string> = new Set(['Int', 'Float', 'Decimal', 'String', 'Bool', 'Unit', 'List', 'Object'])

/** Checks the options after `with` against the call to which they apply. */
export class OptionsRule implements BodyRule {
  readonly found: Diagnostic[] = []

  options(written: Expression, operand: Expression | null, position: BodyPosition): void {
    const options = bare(written)
    const called = operand === null ? declaredBy(position) : calledBy(bare(operand), position)
    if (options.kind === 'Object') for (const entry of options.entries) this.#option(entry, called)
    else if (options.kind !== 'Missing') {
      const suggestions = ['write `with { retries: 3 }`']
      this.found.push(
        diagnostic('typecheck.with.not_record', 'options must be a record literal', written, { suggestions })
      )
    }
    if (operand !== null) this.#operand(bare(operand), position)
  }

  #option(entry: ObjectEntry, called: Called | null): void {
    const key = entryKey(entry)
    if (!Object.hasOwn(OPTIONS, key)) {
      this.#unknown(entry, key)
      return
    }
    const known = OPTIONS[key] as Option
    if (called !== null && !known.appliesTo.includes(called.kind)) this.#misplaced(entry, known, called)
    const value = bare(entryValue(entry))
    if (value.kind === 'String' && known.texts !== null) this.#text(key, value, known.texts)
    if (DURATIONS.has(key)) this.found.push(...durationProblems(`the option \`${key}\``, value))
    const { kinds } = known
    if (!LITERALS.has(value.kind) || kinds.includes(value.kind)) return
    const expected = kinds.map(kind => TYPES[kind] ?? kind.toLowerCase()).join(' or ')
    const foundType = TYPES[value.kind] ?? value.kind.toLowerCase()
    this.found.push(
      diagnostic('typecheck.with.option_type', `the option \`${key}\` must be a ${expected}`, value, {
        expectedType: expected,
        foundType
      })
    )
  }

  #unknown(entry: ObjectEntry, key: string): void {
    const near = nearName(key, Object.keys(OPTIONS))
    this.found.push(
      diagnostic('typecheck.with.unknown_option', `there is no option \`${key}\``, entry.key, {
        suggestions: [`the options are ${listed(Object.keys(OPTIONS))}`],
        ...spellingFix(near, entry.key)
      })
    )
  }

  #misplaced(entry: ObjectEntry, { appliesTo }: Option, { kind, name }: Called): void {
    const kindsOfCalls = [
      ...new Set(appliesTo.map(each => (each === 'mesh' && appliesTo.includes('activity') ? 'activity' : each)))
    ]
    const key = entryKey(entry)
    const message = `the option \`${key}\` has no effect on ${kind === 'workflow' ? 'the workflow' : 'the activity'} \`${name}\``
    const has = Object.keys(OPTIONS).filter(each => OPTIONS[each]?.appliesTo.includes(kind))
    this.found.push(
      diagnostic('typecheck.with.misplaced_option', message, entry.key, {
        suggestions: [
          `\`${key}\` is for ${kindsOfCalls.map(taker => CALL_KINDS[taker]).join(' and ')}; \`${name}\` accepts ${listed(has)}`
        ]
      })
    )
  }

  #text(key: string, value: Extract<Expression, { kind: 'String' }>, texts: readonly string[]): void {
    if (texts.includes(value.value)) return
    const near = nearName(value.value, texts)
    this.found.push(
      diagnostic('typecheck.with.option_value', `the option \`${key}\` cannot be "${value.value}"`, value, {
        suggestions: [`the values of \`${key}\` are ${texts.map(text => `"${text}"`).join(', ')}`],
        ...spellingFix(near, value, `"${near}"`)
      })
    )
  }

  /**
   * Reports options on a call that cannot fail: only a failed call is retried. Reported only if the callee declares its
   * result type.
   */
  #operand(operand: Expression, position: BodyPosition): void {
    if (operand.kind === 'Missing') return
    const callee = operand.kind === 'Call' && operand.callee.kind === 'Identifier' ? operand.callee : null
    const meaning = callee === null ? null : position.meaning(callee.name)
    const result = meaning?.kind === 'module' ? (meaning.entry.signature?.result ?? null) : null
    const isLiteral = LITERALS.has(operand.kind)
    const isOther = result !== null && !(result.kind === 'NamedType' && result.path.at(-1)?.text === 'Result')
    if (!isLiteral && !isOther) return
    this.found.push(
      diagnostic('typecheck.with.operand', 'options must follow a call that returns a `Result`', operand, {
        suggestions: ['call an activity that returns `Result[…]`']
      })
    )
  }
}

function declaredBy({ item }: BodyPosition): Called | null {
  return item.kind === 'Activity' ? activity(item.name.text) : null
}

/** Returns the callee and its kind; null if the callee is unknown. */
function calledBy(operand: Expression, position: BodyPosition): Called | null {
  if (operand.kind === 'With') return calledBy(bare(operand.operand), position)
  if (operand.kind !== 'Call' || operand.callee.kind !== 'Identifier') return null
  const { name } = operand.callee
  const meaning = position.meaning(name)
  const declaration = meaning?.kind === 'module' ? meaning.entry.declaration : null
  if (declaration?.kind === 'Activity') return activity(name)
  return declaration?.kind === 'Workflow' ? { kind: 'workflow', name } : null
}

function activity(name: string): Called {
  return { kind: name.startsWith('mesh_') ? 'mesh' : 'activity', name }
}

function listed(names: readonly string[]): string {
  return names.map(name => `\`${name}\``).join(', ')
}
