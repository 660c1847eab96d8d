import { errorMessage, type Logger, readStrictJson } from '@svc/plugin-sdk'
import { telemetryErrors } from './errors.ts'
import { post } from './post.ts'
import { redact } from './redact.ts'
import type { Spool } from './spool.ts'

/** Payloads in a row without an answer after which the rest waits for the next upload. */
const MAX_UNANSWERED = 3
const MAX_LISTED = 20

export interface UploadOptions {
  readonly spool: Spool
  readonly url: URL
  readonly token: string | undefined
  readonly timeoutMs: number
  readonly dryRun: boolean
  readonly mask: (text: string) => string
  readonly log: Pick<Logger, 'warn'>
  readonly signal: AbortSignal
}

export interface UploadReport {
  /** Payloads that were in the queue. */
  readonly pending: number
  readonly sent: number
  readonly failed: number
  /** The first failures. */
  readonly failures: readonly { readonly id: string; readonly reason: string }[]
  /** True if the upload ended early, because the server did not answer. */
  readonly stopped: boolean
}

/**
 * Parses the URL of an upload. Throws `TEL_UPLOAD_URL` if it is missing, is not HTTPS or contains a user or password.
 * The message does not contain the URL, which may have a key in its query.
 */
export function uploadUrl(text: string | undefined): URL {
  const refuse = (problem: string) =>
    telemetryErrors.create('TEL_UPLOAD_URL', problem, {
      at: { path: 'plugins.telemetry.upload_url' },
      hint: 'set SVC_TELEMETRY_UPLOAD_URL to an https:// URL, or pass --url'
    })
  if (text === undefined) throw refuse('no URL for the upload is set')
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw refuse('the URL for the upload cannot be parsed')
  if (url.protocol !== 'https:') throw refuse(`the upload needs https:, not ${url.protocol}`)
  if (url.username !== '' || url.password !== '')
    throw refuse('the URL for the upload contains a user or password; use SVC_TELEMETRY_UPLOAD_TOKEN')
  return url
}

/** Returns a URL for output: without its query, which may contain a key. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

/**
 * Posts each payload, oldest first, and removes it after a status of 200 to 299. A payload may be posted twice if svc is
 * killed in between; `idempotency-key` is then the same.
 */
export async function upload(options: UploadOptions): Promise<UploadReport> {
  const { spool, dryRun, log, signal } = options
  const ids = await spool.names()
  const failures: { id: string; reason: string }[] = []
  let sent = 0
  let failed = 0
  let unanswered = 0
  for (const id of dryRun ? [] : ids) {
    signal.throwIfAborted()
    const outcome = await send(id, options)
    signal.throwIfAborted()
    if (outcome === 'gone') continue
    unanswered = outcome.answered ? 0 : unanswered + 1
    if (outcome.reason === null) {
      sent += 1
      continue
    }
    failed += 1
    if (failures.length < MAX_LISTED) failures.push({ id, reason: outcome.reason })
    log.warn('a telemetry payload was not accepted, and stays in the queue', { payload: id, reason: outcome.reason })
    if (unanswered >= MAX_UNANSWERED) break
  }
  return { pending: ids.length, sent, failed, failures, stopped: unanswered >= MAX_UNANSWERED }
}

interface Outcome {
  /** False if the server did not answer. */
  readonly answered: boolean
  /** Why the payload stays; null if it was sent. */
  readonly reason: string | null
}

async function send(
  id: string,
  { spool, url, token, timeoutMs, mask, signal }: UploadOptions
): Promise<Outcome | 'gone'> {
  let body: string
  try {
    const text = await spool.read(id)
    // Another process has sent it.
    if (text === null) return 'gone'
    // Again, since a value may have become a known secret after the payload was queued.
    body = JSON.stringify(redact(readStrictJson(Buffer.from(text)), mask))
  } catch (error) {
    return { answered: true, reason: errorMessage(error) }
  }
  try {
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': id,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
    }
    const status = await post({ url, body, headers, timeoutMs, signal })
    if (status < 200 || status > 299) return { answered: true, reason: `the server answered ${status}` }
  } catch (error) {
    return { answered: false, reason: reasonOf(error, timeoutMs) }
  }
  await spool.remove(id)
  return { answered: true, reason: null }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if ((error as Error).name === 'TimeoutError') return `no answer within ${timeoutMs} ms`
  const { code } = error as NodeJS.ErrnoException
  return code ?? errorMessage(error)
}
