import { MESH_OPERATIONS, type MeshOperation } from '@svc/contracts'
import { durationOf } from '../interpreter/duration.ts'
import { fail } from '../interpreter/failure.ts'
import { typeName } from '../interpreter/type-name.ts'
import { Float, isInt, isList, isRecord, type RecordValue, type Value } from '../interpreter/value.ts'
import { CLASSIFICATIONS, type Classification } from './journal.ts'

/** Options of a call from `with { … }`. */
export interface CallOptions {
  /** Maximum retries. null if not set: an Error is then an ordinary result, and not retried. */
  readonly retries: number | null
  /** Time limit of an attempt in milliseconds; null for the limit of the turn. */
  readonly timeout: number | null
  /** Id of the activity, or of the workflow run. */
  readonly id: string | null
  /** Milliseconds before the second attempt. */
  readonly initialBackoff: number
  readonly maxBackoff: number
  readonly multiplier: number
  readonly classification: Classification
  /** The requested mesh step. */
  readonly mens: MeshOperation | null
  /** Required labels of the mesh node; empty for any. */
  readonly labels: readonly string[]
  /** True if the caller does not wait. */
  readonly detach: boolean
}

/** Kinds of calls with options; `mesh` activities run on other machines. */
export type Optioned = 'activity' | 'mesh' | 'workflow'

const OF_STEPS = 'retries timeout activity_id id initial_backoff max_backoff backoff_multiplier meta'.split(' ')

/** Accepted options by kind of call. */
export const OPTIONS_OF: Readonly<Record<Optioned, readonly string[]>> = {
  activity: OF_STEPS,
  mesh: [...OF_STEPS, 'mens', 'labels'],
  workflow: ['activity_id', 'id', 'detach']
}

/** Merges records of options; later ones win. Throws `RUN_ARGUMENTS` for an unknown option, and `RUN_TYPE`. */
export function callOptions(kind: Optioned, name: string, records: readonly (Value | null)[]): CallOptions {
  const options = new Map(records.flatMap(record => (record === null ? [] : [...recordOf(record)])))
  const idle = [...options.keys()].find(key => !OPTIONS_OF[kind].includes(key))
  if (idle !== undefined) {
    const noun = kind === 'workflow' ? 'workflow' : 'activity'
    fail('RUN_ARGUMENTS', `the ${noun} ${name} has no option ${idle}; it has ${OPTIONS_OF[kind].join(', ')}`)
  }
  const duration = (key: string, otherwise: number): number => {
    const value = options.get(key)
    return value === undefined ? otherwise : durationOf(value)
  }
  return {
    retries: options.has('retries') ? wholeNumber(options, 'retries') : null,
    timeout: options.has('timeout') ? duration('timeout', 0) : null,
    id: text(options, 'activity_id') ?? text(options, 'id'),
    initialBackoff: duration('initial_backoff', 100),
    maxBackoff: duration('max_backoff', 60_000),
    multiplier: factor(options.get('backoff_multiplier')),
    classification: oneOf(options, 'meta', CLASSIFICATIONS) ?? 'local',
    mens: oneOf(options, 'mens', MESH_OPERATIONS),
    labels: labelsOf(options.get('labels')),
    detach: options.get('detach') === true
  }
}

/** Returns the delay after a failed attempt, in milliseconds. */
export function delayAfter(attempt: number, { initialBackoff, maxBackoff, multiplier }: CallOptions): number {
  return Math.round(Math.min(maxBackoff, initialBackoff * multiplier ** (attempt - 1)))
}

function recordOf(options: Value): RecordValue {
  return isRecord(options) ? options : fail('RUN_TYPE', `options must be a record, found ${typeName(options)}`)
}

function wholeNumber(options: RecordValue, key: string): number {
  const value = options.get(key)
  return typeof value === 'number' && value >= 0
    ? value
    : fail('RUN_TYPE', `the option ${key} must be an int of at least 0`)
}

function text(options: RecordValue, key: string): string | null {
  const value = options.get(key)
  if (value === undefined) return null
  return typeof value === 'string' && value !== '' ? value : fail('RUN_TYPE', `the option ${key} must be a str`)
}

function oneOf<A extends string>(options: RecordValue, key: string, values: readonly A[]): A | null {
  const value = text(options, key)
  if (value === null) return null
  return (
    values.find(each => each === value) ??
    fail('RUN_ARGUMENTS', `the option ${key} must be one of ${values.join(', ')}, found ${value}`)
  )
}

/** Reads labels: a list of strs, or one comma-separated str. */
function labelsOf(value: Value | undefined): readonly string[] {
  if (value === undefined) return []
  const labels = typeof value === 'string' ? value.split(',') : isList(value) ? [...value] : []
  const texts = labels.flatMap(label => (typeof label === 'string' && label.trim() !== '' ? [label.trim()] : []))
  if (texts.length === 0 || texts.length < labels.length) {
    fail('RUN_TYPE', 'the option labels must be a list of non-empty strs')
  }
  return texts
}

function factor(value: Value | undefined): number {
  if (value === undefined) return 2
  const number = value instanceof Float ? value.value : isInt(value) ? Number(value) : Number.NaN
  return number >= 1 ? number : fail('RUN_TYPE', 'the option backoff_multiplier must be a number of at least 1')
}
