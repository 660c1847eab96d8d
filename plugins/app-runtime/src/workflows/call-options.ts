import { durationOf } from '../interpreter/duration.ts'
import { fail } from '../interpreter/failure.ts'
import { typeName } from '../interpreter/type-name.ts'
import { Float, isInt, isRecord, type RecordValue, type Value } from '../interpreter/value.ts'
import { CLASSIFICATIONS, type Classification } from './journal.ts'

/** What `with { … }` says of a call. */
export interface CallOptions {
  /** Attempts beyond the first; null where nothing is said, and an Error is a result like others. */
  readonly retries: number | null
  /** Milliseconds that an attempt may take; null for as long as the run may. */
  readonly timeout: number | null
  /** Of an activity, or the run of a workflow. */
  readonly id: string | null
  /** Milliseconds before the second attempt. */
  readonly initialBackoff: number
  readonly maxBackoff: number
  readonly multiplier: number
  readonly classification: Classification
  /** The step of the mesh that is asked for. */
  readonly mens: string | null
  /** Whether the caller does not wait. */
  readonly detach: boolean
}

const KNOWN: ReadonlySet<string> = new Set(
  'retries timeout activity_id id initial_backoff max_backoff backoff_multiplier meta mens labels detach'.split(' ')
)

/** Later records have the last word. Throws `RUN_ARGUMENTS` and `RUN_TYPE`. */
export function callOptions(records: readonly (Value | null)[]): CallOptions {
  const options = new Map(records.flatMap(record => (record === null ? [] : [...recordOf(record)])))
  const unknown = [...options.keys()].find(key => !KNOWN.has(key))
  if (unknown !== undefined) fail('RUN_ARGUMENTS', `with has no option ${unknown}; it has ${[...KNOWN].join(', ')}`)
  const duration = (key: string, otherwise: number): number => {
    const value = options.get(key)
    return value === undefined ? otherwise : durationOf(value)
  }
  const meta = options.get('meta')
  const isClass = CLASSIFICATIONS.find(each => each === meta)
  return {
    retries: options.has('retries') ? wholeNumber(options, 'retries') : null,
    timeout: options.has('timeout') ? duration('timeout', 0) : null,
    id: text(options, 'activity_id') ?? text(options, 'id'),
    initialBackoff: duration('initial_backoff', 100),
    maxBackoff: duration('max_backoff', 60_000),
    multiplier: factor(options.get('backoff_multiplier')),
    classification: isClass ?? 'local',
    mens: text(options, 'mens'),
    detach: options.get('detach') === true
  }
}

/** Milliseconds between an attempt that failed and the next one. */
export function delayAfter(attempt: number, { initialBackoff, maxBackoff, multiplier }: CallOptions): number {
  return Math.round(Math.min(maxBackoff, initialBackoff * multiplier ** (attempt - 1)))
}

function recordOf(options: Value): RecordValue {
  return isRecord(options) ? options : fail('RUN_TYPE', `options are a record, found ${typeName(options)}`)
}

function wholeNumber(options: RecordValue, key: string): number {
  const value = options.get(key)
  return typeof value === 'number' && value >= 0 ? value : fail('RUN_TYPE', `the option ${key} is an int of at least 0`)
}

function text(options: RecordValue, key: string): string | null {
  const value = options.get(key)
  if (value === undefined) return null
  return typeof value === 'string' && value !== '' ? value : fail('RUN_TYPE', `the option ${key} is a str`)
}

function factor(value: Value | undefined): number {
  if (value === undefined) return 2
  const number = value instanceof Float ? value.value : isInt(value) ? Number(value) : Number.NaN
  return number >= 1 ? number : fail('RUN_TYPE', 'the option backoff_multiplier is a number of at least 1')
}
