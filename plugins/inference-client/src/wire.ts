import type { InferenceChatEvent, InferenceChatRequest, RemoteModel, RunningModel } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

/** A request with everything that the settings fill in. */
export type FilledRequest = InferenceChatRequest &
  Required<Pick<InferenceChatRequest, 'model' | 'temperature' | 'maxTokens'>>

/** One format, spoken with one server. Failures are {@link WireFailure}, or what `fetch` throws. */
export interface Wire {
  readonly api: 'ollama' | 'openai'
  models(signal: AbortSignal): Promise<readonly RemoteModel[]>
  /** Absent where the format has no word for it. */
  running?(signal: AbortSignal): Promise<readonly RunningModel[]>
  chat(request: FilledRequest, signal: AbortSignal): AsyncIterable<InferenceChatEvent>
}

export interface WireOptions {
  /** Base URL without a slash at its end. */
  readonly url: string
  readonly apiKey: string | undefined
  /** Returns headers by which the model server of this process recognises the client; see `OwnModelServer`. */
  readonly passFor?: ((url: string) => Readonly<Record<string, string>>) | undefined
}

/** Returns the headers that every request has. */
export function headersOf({ url, apiKey, passFor }: WireOptions): Record<string, string> {
  const authorization = apiKey === undefined ? undefined : `Bearer ${apiKey}`
  return { ...passFor?.(url), ...defined({ authorization }) }
}

/** The server's own words for a request that it did not serve. */
export class WireFailure extends Error {
  override readonly name = 'WireFailure'
  readonly status: number
  /** Milliseconds after which it may be tried again, where the server says so. */
  readonly retryAfterMs: number | null

  constructor(status: number, message: string, retryAfterMs: number | null = null) {
    super(message)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** A refusal in the words of either format: `{"error": "…"}` or `{"error": {"message": "…"}}`, else the body as it is. */
export async function failureOf(response: Response): Promise<WireFailure> {
  const text = await response.text()
  return new WireFailure(response.status, reason(text) ?? response.statusText, retryAfter(response.headers))
}

function reason(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string }
    if (typeof error === 'string') return error
    if (typeof error?.message === 'string') return error.message
  } catch {
    // Not the usual shape.
  }
  return text.trim().slice(0, 500) || undefined
}

/** Milliseconds of a `Retry-After` header in seconds (RFC 9110, section 10.2.3); dates are not worth the trouble. */
function retryAfter(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}
