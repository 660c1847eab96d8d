import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, errorMessage, isSvcError } from '@svc/plugin-sdk'
import { CHECK_FILE, IGNORED_FILE, readFields, writeFields } from './check.ts'

const FAILURE_FILE = 'last-failure.json'
const ACTIONS = ['check', 'install', 'rollback'] as const
/** Refusals: nothing was attempted, and the person who ran the command has the message. */
const REFUSALS: ReadonlySet<string> = new Set([
  'UPD_OPTIONS',
  'UPD_BREAKING',
  'UPD_BUSY',
  'UPD_NO_PREVIOUS',
  'UPD_SOURCE_DIRTY',
  'UPD_VERSION_REQUIRED'
])

/** Update that failed, in `last-failure.json` of the toolchain folder until one succeeds or a person dismisses it. */
export interface Failure {
  /** Unix milliseconds. */
  readonly at: number
  readonly action: (typeof ACTIONS)[number]
  readonly message: string
  readonly hint?: string
}

export async function readFailure(home: string): Promise<Failure | null> {
  const { at, action, message, hint } = await readFields(home, FAILURE_FILE)
  const known = ACTIONS.find(each => each === action)
  if (typeof at !== 'number' || typeof message !== 'string' || known === undefined) return null
  return { at, action: known, message, ...(typeof hint === 'string' ? { hint } : {}) }
}

/** Stores a failure for the console. Does not throw: the failure itself is what the person has to see. */
export async function recordFailure(home: string, action: Failure['action'], error: unknown): Promise<void> {
  if (isSvcError(error) && REFUSALS.has(error.code)) return
  const failure = { at: Date.now(), action, message: errorMessage(error) }
  const hint = isSvcError(error) ? error.hint : undefined
  await writeFields(home, FAILURE_FILE, { ...failure, ...defined({ hint }) }).catch(() => {})
}

/** Forgets a failure: of any action, or only of this one. */
export async function clearFailure(home: string, action?: Failure['action']): Promise<void> {
  if (action !== undefined && (await readFailure(home))?.action !== action) return
  await rm(join(home, FAILURE_FILE), { force: true })
}

/** Returns a text that changes when any process changes what the console shows. */
export async function stampOf(home: string): Promise<string> {
  const files = [CHECK_FILE, IGNORED_FILE, FAILURE_FILE, '.'].map(name => join(home, name))
  const times = await Promise.all(
    files.map(file =>
      stat(file).then(
        ({ mtimeMs, ino }) => `${mtimeMs} ${ino}`,
        () => ''
      )
    )
  )
  return times.join('\n')
}
