import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { databaseErrors } from '@svc/contracts'
import { errorMessage, isSvcError, type SvcError } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import type { DatabaseLocation } from './location.ts'
import { openRemote, openReplica } from './remote/remote-store.ts'
import { type LocalOptions, openFile } from './store/local-store.ts'
import type { QueuedStore } from './store/queued-store.ts'

export interface OpenOptions extends LocalOptions {
  readonly remoteTimeoutMs: number
  /** Folder of backups without a file name, for messages. */
  readonly backups: string
  /** Called when a fallback is used. */
  readonly warn: (message: string, reason: unknown) => void
  /** Aborts the waits between attempts. */
  readonly signal: AbortSignal
}

const MAX_ATTEMPTS = 3
const WAIT_MS = 500
/** Codes of a file that cannot be created or written. Another file may not replace one that is damaged or newer. */
const UNWRITABLE = new Set(['DBS_OPEN_FAILED', 'DBS_READ_ONLY'])
/** Codes of transient errors. */
const TRANSIENT = new Set(['DBS_BUSY', 'DBS_UNREACHABLE', 'DBS_LOST'])

/** Opens the configured database. Retries transient errors, up to three attempts. */
export async function openLocation(place: DatabaseLocation, options: OpenOptions): Promise<QueuedStore> {
  if (place.mode === 'remote')
    return withRetries(() => openRemote({ ...place, timeoutMs: options.remoteTimeoutMs }), options)
  if (place.mode === 'replica') {
    const { url, token } = place
    try {
      makeFolderOf(place.file)
      const { busyTimeoutMs, remoteTimeoutMs: timeoutMs } = options
      return await withRetries(() => openReplica({ ...place, busyTimeoutMs, timeoutMs }), options)
    } catch (error) {
      if (!isSvcError(error, 'DBS_NO_BINDING')) throw error
      options.warn(`${url} cannot have a local replica here; every query goes to the remote database`, error)
      return withRetries(() => openRemote({ url, token, timeoutMs: options.remoteTimeoutMs }), options)
    }
  }
  try {
    return await openLocal(place.file, options)
  } catch (error) {
    if (place.fallback === null || !isSvcError(error) || !UNWRITABLE.has(error.code)) throw error
    options.warn(`${place.file} cannot be written; ${place.fallback} is used`, error)
    return openLocal(place.fallback, options)
  }
}

/** Opens a local file and creates its folder. Throws `DBS_OPEN_FAILED` and the errors of opening. */
export async function openLocal(file: string, options: OpenOptions): Promise<QueuedStore> {
  makeFolderOf(file)
  try {
    return await withRetries(() => openFile(file, options), options)
  } catch (error) {
    throw isSvcError(error, 'DBS_CORRUPT') ? damaged(file, options.backups, error) : error
  }
}

function damaged(file: string, backups: string, cause: SvcError): Error {
  return databaseErrors.create('DBS_CORRUPT', cause.message, {
    cause,
    hint: `restore a backup with svc db restore FILE (svc db backup writes to ${backups}), or move ${file} away to start with an empty database`
  })
}

function makeFolderOf(file: string): void {
  try {
    makePrivateFolder(dirname(file))
  } catch (cause) {
    throw databaseErrors.create('DBS_OPEN_FAILED', `${file}: its folder cannot be created: ${errorMessage(cause)}`, {
      cause,
      hint: 'name another file in SVC_DB_PATH'
    })
  }
}

async function withRetries<A>(open: () => Promise<A>, { signal }: OpenOptions): Promise<A> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isSvcError(error) || !TRANSIENT.has(error.code)) throw error
      await sleep(WAIT_MS * attempt, undefined, { signal })
    }
  }
}
