import type { HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import type { Transcriber } from '../transcriber.ts'
import { sendFailure, sendJson, transcriptBody } from './bodies.ts'
import { receiveUpload, UPLOAD_LIMIT, UploadError } from './upload.ts'

export interface RouteParts {
  readonly transcriber: Transcriber
  readonly status: () => Promise<unknown>
  /** Folder of uploads during their recognition. `name` is relative to the workspace, `folder` is absolute. */
  readonly ingress: { readonly name: string; readonly folder: string }
  readonly captureTimeoutMs: number
}

const JSON_LIMIT = 65_536

/** Returns the audio routes of the primary-database API. */
export function audioRoutes(parts: RouteParts): readonly HttpHandlerRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/audio/status',
      summary: 'Show whether speech recognition is ready, its backend and settings',
      handle: exchange => {
        parts.status().then(
          body => sendJson(exchange, 200, body),
          error => exchange.fail(error)
        )
      }
    },
    {
      method: 'POST',
      path: '/api/audio/transcribe',
      summary: 'Transcribe a recording of the workspace',
      handle: exchange => exchange.body(bytes => void byPath(exchange, bytes, parts.transcriber), JSON_LIMIT)
    },
    {
      method: 'POST',
      path: '/api/audio/transcribe/upload',
      summary: 'Transcribe an uploaded recording',
      handle: exchange => void byUpload(exchange, parts)
    }
  ]
}

async function byPath(exchange: HttpExchange, bytes: Buffer, transcriber: Transcriber): Promise<void> {
  const parsed = parseBody(bytes)
  if (typeof parsed === 'string') {
    sendJson(exchange, 400, { error: 'bad_request', message: parsed })
    return
  }
  const { path, language } = parsed
  try {
    const options = { signal: exchange.caller.signal, ...(language === null ? {} : { language }) }
    const transcript = await transcriber.transcribe({ kind: 'file', path }, options)
    sendJson(exchange, 200, transcriptBody(exchange.caller.requestId, path, transcript))
  } catch (error) {
    sendFailure(exchange, error, path)
  }
}

/** Parses the body. Returns a message if it is invalid. */
function parseBody(bytes: Buffer): string | { readonly path: string; readonly language: string | null } {
  let body: unknown
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    return `the body is not JSON: ${(error as Error).message}`
  }
  const { path, language_hint: hint } = (body ?? {}) as { path?: unknown; language_hint?: unknown }
  if (typeof path !== 'string' || path === '') return 'the body has no string "path"'
  return { path, language: typeof hint === 'string' ? hint : null }
}

async function byUpload(exchange: HttpExchange, parts: RouteParts): Promise<void> {
  const { ingress, captureTimeoutMs, transcriber } = parts
  const { signal, requestId } = exchange.caller
  const { request } = exchange
  const started = performance.now()
  try {
    const upload = await receiveUpload(request, { folder: ingress.folder, idleMs: captureTimeoutMs, signal })
    const path = `${ingress.name}/${upload.name}`
    const options = { signal, ...(upload.language === null ? {} : { language: upload.language }) }
    // The file is removed before the response is sent.
    const transcript = await transcriber
      .transcribe({ kind: 'file', path }, options, started)
      .finally(() => upload.remove())
    sendJson(exchange, 200, transcriptBody(requestId, path, transcript))
  } catch (error) {
    // The rest of the body is read: otherwise a client that is still sending would see a connection reset.
    request.resume()
    if (!(error instanceof UploadError)) return sendFailure(exchange, error, 'upload')
    const fields = error.code === 'body_too_large' ? { limit_bytes: UPLOAD_LIMIT } : {}
    sendJson(exchange, error.status, { error: error.code, ...error.detail, ...fields })
  }
}
