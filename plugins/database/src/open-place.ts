import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { databaseErrors } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import type { Place } from './place.ts'
import { openRemote, openReplica } from './remote/remote-store.ts'
import { type LocalOptions, openFile } from './store/local-store.ts'
import type { QueuedStore } from './store/queued-store.ts'

export interface OpenOptions extends LocalOptions {
  readonly remoteTimeoutMs: number
  /** Told what was done in place of what was asked. */
  readonly warn: (message: string, reason: unknown) => void
  /** Ends the waiting between attempts. */
  readonly signal: AbortSignal
}

const ATTEMPTS = 3
const WAIT_MS = 500
/** What another attempt may find changed. */
const PASSING = new Set(['DBS_BUSY', 'DBS_UNREACHABLE', 'DBS_LOST'])

/** Opens what the settings name; see {@link Place}. Tries three times what may pass. */
export async function openPlace(place: Place, options: OpenOptions): Promise<QueuedStore> {
  if (place.mode === 'remote')
    return patiently(() => openRemote({ ...place, timeoutMs: options.remoteTimeoutMs }), options)
  if (place.mode === 'replica') {
    const { url, token } = place
    try {
      await makeFolder(place.file)
      const { busyTimeoutMs, remoteTimeoutMs: timeoutMs } = options
      return await patiently(() => openReplica({ ...place, busyTimeoutMs, timeoutMs }), options)
    } catch (error) {
      if (!isSvcError(error, 'DBS_NO_BINDING')) throw error
      options.warn(`no copy of ${url} can be kept here, so that it is asked for everything`, error)
      return patiently(() => openRemote({ url, token, timeoutMs: options.remoteTimeoutMs }), options)
    }
  }
  try {
    return await openLocal(place.file, options)
  } catch (error) {
    // Where the binding is missing, the other file cannot be opened either.
    if (place.fallback === null || !isSvcError(error) || error.code === 'DBS_NO_BINDING') throw error
    options.warn(`${place.file} cannot be opened, so that ${place.fallback} is used`, error)
    return openLocal(place.fallback, options)
  }
}

/** A local file, whose folder is made. Throws `DBS_OPEN_FAILED` and what opening throws. */
export async function openLocal(file: string, options: OpenOptions): Promise<QueuedStore> {
  makeFolderOf(file)
  return patiently(() => openFile(file, options), options)
}

function makeFolderOf(file: string): void {
  try {
    makeFolder(dirname(file))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw databaseErrors.create('DBS_OPEN_FAILED', `${file}: its folder cannot be made: ${why}`, {
      cause,
      hint: 'name another file in SVC_DB_PATH'
    })
  }
}

async function patiently<A>(open: () => Promise<A>, { signal }: OpenOptions): Promise<A> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open()
    } catch (error) {
      if (attempt === ATTEMPTS || !isSvcError(error) || !PASSING.has(error.code)) throw error
      await sleep(WAIT_MS * attempt, undefined, { signal })
    }
  }
}
