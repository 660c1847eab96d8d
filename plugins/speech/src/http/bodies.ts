import type { HttpExchange, Transcript } from '@svc/contracts'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'

/** Transcript as JSON, for both routes and the stream. */
export interface TranscriptBody {
  readonly correlation_id: string
  readonly path: string
  readonly raw_text: string
  readonly refined_text: string
  readonly text: string
  readonly confidence: number
  readonly n_best?: readonly string[]
}

export function transcriptBody(correlationId: string, path: string, transcript: Transcript): TranscriptBody {
  return { correlation_id: correlationId, path, ...texts(transcript) }
}

/** Returns the text fields of a transcript. `n_best` is present only if there are alternatives. */
export function texts({ raw, refined, confidence, alternatives }: Transcript) {
  return {
    raw_text: raw,
    refined_text: refined,
    text: refined,
    confidence,
    ...(alternatives.length === 0 ? {} : { n_best: [refined, ...alternatives] })
  }
}

export interface BodyFailure {
  readonly status: number
  readonly body: { readonly error: string; readonly [field: string]: unknown }
}

/** Returns the response for a failed recording; null for an internal failure. `path` is the path from the request. */
function failureOf(error: unknown, path: string): BodyFailure | null {
  if (!isSvcError(error)) return null
  const { message } = error
  switch (error.code) {
    case 'SPC_FILE_NOT_FOUND':
      return { status: 404, body: { error: 'file_not_found', path } }
    case 'SPC_PATH_OUTSIDE':
      return { status: 400, body: { error: 'path_outside_workspace', path } }
    case 'SPC_AUDIO_INVALID':
    case 'SPC_RECOGNISER_FAILED':
      return { status: 400, body: { error: 'transcribe_failed', message } }
    case 'SPC_AUDIO_UNSUPPORTED':
      return { status: 415, body: { error: 'unsupported_audio', message: withHint(error) } }
    case 'SPC_NO_MODEL':
      return { status: 503, body: { error: 'no_model', message: withHint(error), missing: missingOf(error) } }
    case 'SPC_BACKEND_UNAVAILABLE':
      return { status: 503, body: { error: 'backend_unavailable', message: withHint(error) } }
    case 'SPC_MODEL_INVALID':
      return { status: 503, body: { error: 'model_invalid', message } }
    case 'SPC_BUSY':
      return { status: 503, body: { error: 'busy', message } }
    case 'SPC_TIMEOUT': {
      const { outcome, deadline_ms } = error.data as { outcome: string; deadline_ms: number }
      return { status: 504, body: { error: outcome, message, deadline_ms } }
    }
    default:
      return null
  }
}

export function sendJson(exchange: HttpExchange, status: number, body: unknown): void {
  exchange.send(status, 'application/json; charset=utf-8', JSON.stringify(body))
}

/** Sends a failure in the format of this API; an internal failure in the shared error format. */
export function sendFailure(exchange: HttpExchange, error: unknown, path: string): void {
  const failure = failureOf(error, path)
  if (failure === null) exchange.fail(error)
  else {
    exchange.caller.recordError?.((error as SvcError).code)
    sendJson(exchange, failure.status, failure.body)
  }
}

function withHint({ message, hint }: SvcError): string {
  return hint === undefined ? message : `${message}; ${hint}`
}

function missingOf({ data }: SvcError): readonly string[] {
  return (data as { missing: readonly string[] }).missing
}
