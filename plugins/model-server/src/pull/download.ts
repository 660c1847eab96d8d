import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { errors } from '../errors.ts'
import { failed, get, type OriginToken, reasonOf, refuseStatus, shownUrl } from './request.ts'
import { isDiskFull, noSpace } from './space.ts'

/** File to download. */
export interface RemoteFile {
  /** Name of the file, without folders. */
  readonly name: string
  readonly url: URL
  /** Size in bytes; null if unknown. */
  readonly size: number | null
  /** `sha256:` and hex digits, or `git:` and the hex digits of a blob in git; null if unknown. */
  readonly digest: string | null
}

export interface DownloadOptions {
  readonly token: OriginToken | undefined
  /** Attempts without any progress, before the download fails. */
  readonly attempts: number
  /** Milliseconds before the second attempt; doubled for each further one. */
  readonly delayMs: number
  /** Milliseconds without a byte after which an attempt is given up. */
  readonly stallMs: number
  readonly signal: AbortSignal
  /** Called with the bytes of the file that are on disk. */
  readonly onBytes: (bytes: number) => void
}

const MAX_RETRY_AFTER_MS = 60_000
const RETRIED = new Set([408, 429, 500, 502, 503, 504])

/** Identity of a partial file: what it was begun from. */
interface PartialState {
  readonly digest: string | null
  readonly etag: string | null
}

/** Failure after which another attempt may succeed. */
class AttemptError extends Error {
  readonly retryAfterMs: number

  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options)
    this.retryAfterMs = options.retryAfterMs ?? 0
  }
}

/**
 * Downloads a file to `path`. Continues `path.partial`, if it is from the same file, and keeps it on failure and abort.
 * The finished file has the expected size and checksum.
 *
 * Throws `MSV_PULL_FAILED`, `MSV_PULL_NOT_FOUND`, `MSV_PULL_CHECKSUM`, `MSV_PULL_SPACE`, or the reason of the signal.
 */
export async function download(file: RemoteFile, path: string, options: DownloadOptions): Promise<void> {
  const { signal, attempts, delayMs } = options
  const partial = `${path}.partial`
  // The most bytes that there have been: a server that always begins again makes no progress.
  let most = await sizeOf(partial)
  let failures = 0
  let hasRestarted = false
  for (;;) {
    signal.throwIfAborted()
    try {
      await attempt(file, partial, options)
      if (await isWhole(file, partial, signal)) break
      await discard(partial)
      // A part from an earlier run may have been damaged, so a fresh copy gets one chance.
      if (hasRestarted || most === 0) throw wrongChecksum(file)
      hasRestarted = true
      most = 0
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof AttemptError)) throw error
      const now = await sizeOf(partial)
      failures = now > most ? 1 : failures + 1
      most = Math.max(most, now)
      if (failures >= attempts) throw failed(file.url, `${error.message}, in ${failures} attempts`, error)
      const waitMs = Math.max(error.retryAfterMs, delayMs * 2 ** (failures - 1))
      await pause(Math.min(waitMs, MAX_RETRY_AFTER_MS), undefined, { signal })
    }
  }
  await rename(partial, path)
  await rm(`${partial}.json`, { force: true })
}

async function attempt(file: RemoteFile, partial: string, options: DownloadOptions): Promise<void> {
  const { token, signal, stallMs, onBytes } = options
  const state = await readState(partial)
  const same = state !== null && (file.digest !== null ? state.digest === file.digest : state.etag !== null)
  let start = same ? await sizeOf(partial) : 0
  if (file.size !== null && start === file.size && start > 0) return onBytes(start)
  const stall = new AbortController()
  const timer = setTimeout(() => stall.abort(new AttemptError(`no data arrived for ${stallMs / 1000} s`)), stallMs)
  const either = AbortSignal.any([signal, stall.signal])
  try {
    const resume =
      start === 0 ? {} : { range: `bytes=${start}-`, ...(state?.etag == null ? {} : { 'if-range': state.etag }) }
    const response = await get(file.url, resume, token, either)
    if (response.status === 416) {
      await response.body?.cancel()
      if (start > 0 && totalOf(response) === start && file.size === null) return onBytes(start)
      await discard(partial)
      throw new AttemptError('the server refused to continue the download')
    }
    if (RETRIED.has(response.status)) {
      await response.body?.cancel()
      throw new AttemptError(`HTTP status ${response.status}`, { retryAfterMs: retryAfterOf(response) })
    }
    await refuseStatus(file.url, response)
    if (response.status !== 206 || startOf(response) !== start) start = 0
    const etag = response.headers.get('etag')
    const next: PartialState = { digest: file.digest, etag: etag?.startsWith('W/') === true ? null : etag }
    await writeFile(`${partial}.json`, JSON.stringify(next))
    const limit = file.size ?? lengthOf(response, start)
    const length = await write(response, partial, start, limit, bytes => {
      timer.refresh()
      onBytes(bytes)
    })
    if (limit !== null && length < limit)
      throw new AttemptError(`the connection ended after ${length} of ${limit} bytes`)
  } catch (error) {
    signal.throwIfAborted()
    if (stall.signal.aborted) throw stall.signal.reason
    throw isFinal(error) ? error : new AttemptError(reasonOf(error), { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** Appends the body at a position of the file, and returns the length of the file. Throws `MSV_PULL_SPACE`. */
async function write(
  response: Response,
  partial: string,
  start: number,
  limit: number | null,
  onBytes: (bytes: number) => void
): Promise<number> {
  let handle: FileHandle | undefined
  let at = start
  try {
    handle = await open(partial, start === 0 ? 'w' : 'r+', 0o600)
    onBytes(at)
    for await (const chunk of response.body ?? []) {
      if (limit !== null && at + chunk.length > limit) {
        throw errors.create(
          'MSV_PULL_FAILED',
          `${shownUrl(new URL(response.url))} sent more than the ${limit} bytes of the file`
        )
      }
      let written = 0
      while (written < chunk.length) {
        written += (await handle.write(chunk, written, chunk.length - written, at + written)).bytesWritten
      }
      at += chunk.length
      onBytes(at)
    }
    await handle.sync()
    return at
  } catch (error) {
    if (isDiskFull(error)) throw await noSpace(partial, limit === null ? null : limit - at, error)
    throw error
  } finally {
    await handle?.close()
  }
}

/** True if the file has the size and checksum of the remote one. */
async function isWhole({ size, digest }: RemoteFile, path: string, signal: AbortSignal): Promise<boolean> {
  const length = await sizeOf(path)
  if (size !== null && length !== size) return false
  return (
    digest === null || (await digestOf(path, digest.startsWith('git:') ? 'git' : 'sha256', length, signal)) === digest
  )
}

/** Returns the checksum of a file: `sha256:` or `git:`, and hex digits. */
export async function digestOf(
  path: string,
  kind: 'git' | 'sha256',
  length: number,
  signal: AbortSignal
): Promise<string> {
  const hash = createHash(kind === 'git' ? 'sha1' : 'sha256')
  if (kind === 'git') hash.update(`blob ${length}\0`)
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, signal })) hash.update(chunk)
  return `${kind}:${hash.digest('hex')}`
}

async function readState(partial: string): Promise<PartialState | null> {
  try {
    const { digest, etag } = JSON.parse(await readFile(`${partial}.json`, 'utf8')) as Partial<PartialState>
    return { digest: typeof digest === 'string' ? digest : null, etag: typeof etag === 'string' ? etag : null }
  } catch {
    return null
  }
}

async function discard(partial: string): Promise<void> {
  for (const path of [partial, `${partial}.json`]) await rm(path, { force: true })
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0
}

/** Errors that another attempt does not change: those of this server, and those of the file system. */
function isFinal(error: unknown): boolean {
  const { code, syscall } = error as { readonly code?: unknown; readonly syscall?: unknown }
  if (error instanceof AttemptError) return true
  return String(code).startsWith('MSV_') || ['open', 'write', 'fsync'].includes(String(syscall))
}

function startOf(response: Response): number {
  return Number(/^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
}

function totalOf(response: Response): number {
  return Number(/^bytes \*\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
}

/** Returns the length of the whole file that a response announces; null if it does not. */
function lengthOf(response: Response, start: number): number | null {
  const length = response.headers.get('content-length')
  return length === null || response.headers.has('content-encoding') ? null : start + Number(length)
}

function retryAfterOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0
}

function wrongChecksum({ name, url, digest, size }: RemoteFile): Error {
  const expected = digest ?? `${size} bytes`
  return errors.create('MSV_PULL_CHECKSUM', `${name} from ${shownUrl(url)} is damaged: it does not match ${expected}`, {
    hint: 'Run the command again. If it fails again, the file on the server is damaged.'
  })
}
