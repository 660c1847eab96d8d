import type { Hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isRemoteFailure, type RemoteAnswer, RemoteFailure, type RemoteRequest } from '@svc/contracts'
import { answerIncomplete, codeOf, fieldAt, listAt, textAt, withOutcome } from './answer.ts'
import type { VideoFile } from './youtube-video.ts'

/** Bytes of one request, halved after each failure for slow connections. YouTube requires multiples of 256 KiB. */
const MAX_CHUNK_BYTES = 8 * 1_048_576
const MIN_CHUNK_BYTES = 256 * 1_024
/** Requests without progress after which an upload fails. */
const MAX_STALLS = 4
/** Delay after the first request without progress; doubles for each further one. */
const STALL_DELAY_MS = 200
const HOUR_MS = 3_600_000

export type SendRequest = (request: RemoteRequest) => Promise<RemoteAnswer>

export interface UploadOptions {
  readonly send: SendRequest
  readonly session: string
  readonly video: VideoFile
  readonly signal: AbortSignal
  /** Whether the session may have received bytes before. */
  readonly resumed: boolean
  /** Whether an earlier process may have sent the last chunk. */
  readonly mayBeComplete: boolean
  /**
   * Called after each chunk, and before the last one, which creates the video. Throws if the upload must stop.
   * `completing`: whether the last chunk may have been sent.
   */
  onProgress(sentBytes: number, completing: boolean): Promise<void>
}

/** The id of the video; or null if the session no longer exists, and whether it may have created the video before. */
export type UploadResult = { readonly id: string } | { readonly id: null; readonly mayExist: boolean }

/**
 * Uploads a video to a resumable session. After a failure it asks the server which bytes it has, and continues there.
 * Throws {@link RemoteFailure}.
 */
export async function uploadVideo(options: UploadOptions): Promise<UploadResult> {
  const { send, session, video, signal, onProgress } = options
  const chunks = new Chunks(video, signal)
  let { mayBeComplete } = options
  let at: number | null = options.resumed ? null : 0
  let chunkBytes = MAX_CHUNK_BYTES
  let known = 0 // Most bytes that the server has reported.
  for (let stalls = 0; stalls < MAX_STALLS; ) {
    signal.throwIfAborted()
    try {
      let answer: RemoteAnswer
      if (at === null) {
        answer = await put(send, session, Buffer.alloc(0), `bytes */${video.bytes}`)
      } else {
        const chunk = await chunks.next(at, chunkBytes)
        const end = at + chunk.length
        const completes = end === video.bytes
        if (completes) await onProgress(at, true)
        const wasComplete = mayBeComplete
        mayBeComplete ||= completes
        answer = await put(send, session, chunk, `bytes ${at}-${end - 1}/${video.bytes}`)
        mayBeComplete = wasComplete
      }
      if (answer.status === 404 || answer.status === 410) {
        // Otherwise the checkpoint keeps the time at which the last bytes were sent.
        if (!mayBeComplete) await onProgress(at ?? 0, false)
        return { id: null, mayExist: mayBeComplete }
      }
      if (answer.status !== 308) return { id: videoIdOf(answer) }
      const received = receivedOf(answer, video.bytes)
      // The server has everything, but no answer yet: only its state can be requested.
      mayBeComplete = received === video.bytes
      if (received > known) stalls = 0
      else if (at !== null || mayBeComplete) stalls++
      known = Math.max(known, received)
      at = mayBeComplete ? null : received
      await onProgress(received, mayBeComplete)
    } catch (error) {
      stalls++
      if (!isRemoteFailure(error)) throw error
      if (error.failureClass !== 'transient' || stalls >= MAX_STALLS)
        throw mayBeComplete ? withOutcome(error, true) : error
      at = null
      chunkBytes = Math.max(MIN_CHUNK_BYTES, chunkBytes / 2)
    }
    if (stalls > 0) await delay(STALL_DELAY_MS * 2 ** (stalls - 1), undefined, { signal })
  }
  throw stalled()
}

/** Reads the chunks of a video and hashes all that is sent, so that a changed file is never completed. */
class Chunks {
  readonly #video: VideoFile
  readonly #signal: AbortSignal
  #hash: Hash | null = null
  #hashed = 0

  constructor(video: VideoFile, signal: AbortSignal) {
    this.#video = video
    this.#signal = signal
  }

  /** Throws the code `video_changed` instead of returning the last chunk of a file that has changed. */
  async next(start: number, length: number): Promise<Buffer> {
    const { bytes } = this.#video
    if (this.#hash === null || this.#hashed !== start) this.#hash = await this.#video.hashOf(start, this.#signal)
    const chunk = await this.#video.read(start, Math.min(length, bytes - start))
    this.#hash.update(chunk)
    this.#hashed = start + chunk.length
    if (this.#hashed === bytes) this.#video.check(this.#hash)
    return chunk
  }
}

function put(send: SendRequest, url: string, body: Buffer, range: string): Promise<RemoteAnswer> {
  return send({
    method: 'PUT',
    url,
    headers: { 'content-range': range, 'content-type': 'application/octet-stream' },
    body,
    // Bytes are sent again only after the server has said what it has.
    repeatable: body.length === 0,
    accept: [308, 400, 403, 404, 410]
  })
}

/** Returns the number of bytes that the server has: `Range: bytes=0-LAST`, absent without any. */
function receivedOf({ headers }: RemoteAnswer, bytes: number): number {
  const range = headers.get('range')
  if (range === null) return 0
  const last = /^bytes=0-(\d{1,15})$/.exec(range.trim())?.[1]
  const received = last === undefined ? Number.NaN : Number(last) + 1
  if (received >= 0 && received <= bytes) return received
  throw new RemoteFailure('YouTube: the server reports an impossible range of received bytes; upload again', {
    failureClass: 'fatal',
    code: 'answer_invalid'
  })
}

function stalled(): RemoteFailure {
  return new RemoteFailure(`YouTube: the server received no bytes in ${MAX_STALLS} requests; try again later`, {
    failureClass: 'transient',
    code: 'upload_stalled',
    outcomeUnknown: true
  })
}

function videoIdOf(answer: RemoteAnswer): string {
  if (answer.status >= 400) throw refusalOf(answer)
  const id = textAt(answer.json(), 'id')
  if (id === null) throw answerIncomplete('YouTube', 'id of the video')
  return id
}

const QUOTA = new Set([
  'quotaExceeded',
  'dailyLimitExceeded',
  'uploadLimitExceeded',
  'rateLimitExceeded',
  'userRateLimitExceeded'
])
const RIGHTS = new Set(['insufficientPermissions', 'youtubeSignupRequired', 'forbidden', 'authorizationRequired'])

/** Returns the failure of a refusal of the YouTube Data API: `error.errors[].reason`. */
export function refusalOf(answer: RemoteAnswer): RemoteFailure {
  const named = reasonOf(answer)
  const reason = named ?? `HTTP ${answer.status}`
  const code =
    named === null
      ? `http_${answer.status}`
      : codeOf(
          'youtube',
          named.replace(/[A-Z]/g, letter => `_${letter}`)
        )
  const details = { code, httpStatus: answer.status }
  if (QUOTA.has(reason))
    return new RemoteFailure(`YouTube: the quota is used up (${reason}); try again later`, {
      ...details,
      failureClass: 'rate_limit',
      retryAfterMs: reason.toLowerCase().includes('rate') ? 60_000 : HOUR_MS
    })
  if (RIGHTS.has(reason) || answer.status === 403)
    return new RemoteFailure(`YouTube: the account may not do this (${reason}); check the scopes and the channel`, {
      ...details,
      failureClass: 'auth'
    })
  return new RemoteFailure(`YouTube: the video is refused (${reason}); change the item`, {
    ...details,
    failureClass: 'fatal'
  })
}

function reasonOf({ text }: RemoteAnswer): string | null {
  try {
    const [error] = listAt(JSON.parse(text), 'error', 'errors')
    const reason = fieldAt(error, 'reason')
    if (typeof reason === 'string' && /^[A-Za-z]{1,60}$/.test(reason)) return reason
  } catch {
    // Not JSON.
  }
  return null
}
