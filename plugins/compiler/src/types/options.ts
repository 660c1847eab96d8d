import { spellingFix } from '../diagnostics/diagnostic.ts'
import type { Expression, ObjectEntry } from '../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { nearName } from '../syntax/near-name.ts'
import { RESULT } from './builtin-types.ts'
import type { Context, Inference } from './context.ts'
import { unwrapped } from './conversions.ts'
import { durationProblems } from './durations.ts'
import { meaningOf } from './resolve.ts'
import { show } from './show.ts'
import type { Type } from './type.ts'

/** An option, and the calls to which it applies. */
interface Option {
  /** Names of the types that the value may have. */
  readonly types: readonly string[]
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

const option = (types: Option['types'], appliesTo: Option['appliesTo'], texts: Option['texts'] = null): Option => ({
  types,
  appliesTo,
  texts
})

const OPTIONS: Readonly<Record<string, Option>> = {
  retries: option(['int'], STEPS),
  timeout: option(['str'], STEPS),
  activity_id: option(['str'], [...STEPS, 'workflow']),
  id: option(['str'], [...STEPS, 'workflow']),
  initial_backoff: option(['str'], STEPS),
  max_backoff: option(['str', 'int'], STEPS),
  backoff_multiplier: option(['int', 'float'], STEPS),
  meta: option(['str'], STEPS, ['local', 'planning', 'verification', 'reconstruction']),
  mens: option(['str'], ['mesh'], ['noop', 'join', 'snapshot', 'heartbeat', 'dispatch', 'wait']),
  labels: option(['List', 'str'], ['mesh']),
  detach: option(['bool'], ['workflow'])
}

const DURATIONS: ReadonlySet<string> = new Set(['timeout', 'initial_backoff', 'max_backoff'])

const NUMBERS: ReadonlySet<string> = new Set(['retries', 'backoff_multiplier'])

const CALL_KINDS: Readonly<Record<Called['kind'], string>> = {
  activity: 'activities',
  mesh: 'activities of the mesh, which are named `mesh_…`',
  workflow: 'workflows'
}

/** Checks the options after `with` against the call to which they apply. `operand` is null in an activity's header. */
export function checkOptions(inference: Inference, written: Expression, operand: Expression | null): void {
  const { context } = inference
  const options = bare(written)
  const called = operand === null ? declaredBy(context) : calledBy(bare(operand), context)
  if (options.kind === 'Object') {
    for (const entry of options.entries) checkOption(inference, entry, called)
  } else if (options.kind !== 'Missing') {
    inference.infer(options)
    const suggestions = ['write `with { retries: 3 }`']
    context.report('typecheck.with.not_record', 'options must be a record literal', written, { suggestions })
  }
}

function checkOption(inference: Inference, entry: ObjectEntry, called: Called | null): void {
  const { context } = inference
  const key = entryKey(entry)
  const value = bare(entryValue(entry))
  const found = unwrapped(inference.infer(entryValue(entry)))
  if (!Object.hasOwn(OPTIONS, key)) {
    const near = nearName(key, Object.keys(OPTIONS))
    context.report('typecheck.with.unknown_option', `there is no option \`${key}\``, entry.key, {
      suggestions: [`the options are ${listed(Object.keys(OPTIONS))}`],
      ...spellingFix(near, entry.key)
    })
    return
  }
  const known = OPTIONS[key] as Option
  if (called !== null && !known.appliesTo.includes(called.kind)) reportMisplaced(context, entry, known, called)
  if (value.kind === 'String' && known.texts !== null) checkText(context, key, value, known.texts)
  if (DURATIONS.has(key)) context.diagnostics.push(...durationProblems(`the option \`${key}\``, value))
  if (NUMBERS.has(key) && value.kind === 'Unary' && value.operator === '-') {
    context.report('typecheck.with.option_value', `the option \`${key}\` is negative`, value)
  }
  if (isOneOf(found, known.types)) return
  const expected = known.types.map(type => type.toLowerCase()).join(' or ')
  context.report('typecheck.with.option_type', `the option \`${key}\` must be a ${expected}`, value, {
    expectedType: expected,
    foundType: show(found)
  })
}

function isOneOf(found: Type, types: readonly string[]): boolean {
  if (found.kind === 'named') return types.includes(found.def.name)
  return found.kind === 'any' || found.kind === 'error' || found.kind === 'var' || found.kind === 'never'
}

function reportMisplaced(context: Context, entry: ObjectEntry, { appliesTo }: Option, { kind, name }: Called): void {
  const kindsOfCalls = [
    ...new Set(appliesTo.map(each => (each === 'mesh' && appliesTo.includes('activity') ? 'activity' : each)))
  ]
  const key = entryKey(entry)
  const message = `the option \`${key}\` has no effect on ${kind === 'workflow' ? 'the workflow' : 'the activity'} \`${name}\``
  const has = Object.keys(OPTIONS).filter(each => OPTIONS[each]?.appliesTo.includes(kind))
  context.report('typecheck.with.misplaced_option', message, entry.key, {
    suggestions: [
      `\`${key}\` is for ${kindsOfCalls.map(taker => CALL_KINDS[taker]).join(' and ')}; \`${name}\` accepts ${listed(has)}`
    ]
  })
}

function checkText(
  context: Context,
  key: string,
  value: Extract<Expression, { kind: 'String' }>,
  texts: readonly string[]
): void {
  if (texts.includes(value.value)) return
  const near = nearName(value.value, texts)
  context.report('typecheck.with.option_value', `the option \`${key}\` cannot be "${value.value}"`, value, {
    suggestions: [`the values of \`${key}\` are ${texts.map(text => `"${text}"`).join(', ')}`],
    ...spellingFix(near, value, `"${near}"`)
  })
}

/** Reports options on a value that cannot fail: only a failed call is retried. */
export function checkOperand(context: Context, operand: Expression, found: Type, isDetached: boolean): void {
  if (isDetached && !mayBeDetached(bare(operand))) {
    context.report('typecheck.with.operand', '`detach` must follow a call of a workflow', bare(operand))
    return
  }
  const type = unwrapped(found)
  if (type.kind === 'error' || type.kind === 'never') return
  const isOpen = type.kind === 'any' || type.kind === 'var'
  if (isCall(bare(operand)) && (isOpen || (type.kind === 'named' && type.def === RESULT))) return
  context.report('typecheck.with.operand', 'options must follow a call that returns a `Result`', bare(operand), {
    suggestions: ['call an activity that returns `Result[…]`']
  })
}

/** True also for a call with options, which are reported themselves. */
function isCall(operand: Expression): boolean {
  if (operand.kind === 'With') return true
  return operand.kind === 'Call' || (operand.kind === 'Binary' && operand.operator === '|>')
}

/** True for calls of names that may be workflows. */
function mayBeDetached(operand: Expression): boolean {
  if (operand.kind === 'With') return mayBeDetached(bare(operand.operand))
  if (operand.kind !== 'Call' || operand.callee.kind !== 'Identifier') return false
  return !['Ok', 'Error', 'Err', 'Some'].includes(operand.callee.name)
}

/** True for the option `{ detach: true }`, which only workflows accept. */
export function isDetached(options: Expression): boolean {
  const record = bare(options)
  if (record.kind !== 'Object') return false
  return record.entries.some(entry => {
    const value = bare(entryValue(entry))
    return entryKey(entry) === 'detach' && value.kind === 'Bool' && value.value
  })
}

function declaredBy({ item }: Context): Called | null {
  return item.kind === 'Activity' ? activity(item.name.text) : null
}

/** Returns the callee and its kind; null if the callee is unknown. */
function calledBy(operand: Expression, context: Context): Called | null {
  if (operand.kind === 'With') return calledBy(bare(operand.operand), context)
  if (operand.kind !== 'Call' || operand.callee.kind !== 'Identifier') return null
  const { name } = operand.callee
  const meaning = meaningOf(context, name)
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
