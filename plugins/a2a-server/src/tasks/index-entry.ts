import { TaskState } from '@a2a-js/sdk'
import type { TaskSnapshot } from './snapshot.ts'
import { hasEnded } from './states.ts'

/** Summary of a task, derived from its events. */
export interface IndexEntry {
  readonly id: string
  readonly owner: string
  readonly context: string
  readonly state: TaskState
  /** When the state was reached, in Unix milliseconds of the store. */
  readonly at: number
  /** Number of the last event. */
  readonly last: number
}

export function entryOf({ id, context, created, state, statusAt, last }: TaskSnapshot): IndexEntry {
  return { id, owner: created.owner, context, state, at: statusAt, last }
}

export function encodeEntry({ id: _, ...entry }: IndexEntry): string {
  return JSON.stringify(entry)
}

/** Reads the JSON text of an entry; null if it is malformed. */
export function decodeEntry(id: string, text: string): IndexEntry | null {
  let value: Partial<Record<keyof IndexEntry, unknown>> | null
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const { owner, context, state, at, last } = value ?? {}
  if (typeof owner !== 'string' || typeof context !== 'string') return null
  if (typeof state !== 'number' || typeof at !== 'number' || typeof last !== 'number') return null
  return TaskState[state] === undefined ? null : { id, owner, context, state, at, last }
}

export function isOpen({ state }: IndexEntry): boolean {
  return !hasEnded(state)
}
