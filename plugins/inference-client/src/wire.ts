import {
  type FilledChatRequest,
  type InferenceChatEvent,
  type OpenAiTarget,
  type RemoteModel,
  type RunningModel,
  WireFailure
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

export type FilledRequest = FilledChatRequest

/** Client of one server in one format. Methods throw {@link WireFailure}, or the errors of `fetch`. */
export interface Wire {
  readonly api: 'ollama' | 'openai'
  models(signal: AbortSignal): Promise<readonly RemoteModel[]>
  /** Absent if the format does not support it. */
  running?(signal: AbortSignal): Promise<readonly RunningModel[]>
  /** Returns whether a model accepts images; null if unknown. Absent if the format does not report it. */
  sees?(model: string, signal: AbortSignal): Promise<boolean | null>
  chat(request: FilledRequest, signal: AbortSignal): AsyncIterable<InferenceChatEvent>
}

export interface WireOptions {
  /** Base URL without a trailing slash. */
  readonly url: string
  readonly apiKey: string | undefined
  /** Returns headers that identify the client to the model server in this process; see `OwnModelServer`. */
  readonly passFor?: ((url: string) => Readonly<Record<string, string>>) | undefined
  /** Differences of a hosted provider from the server of a base URL, in OpenAI's format. */
  readonly hosted?: Omit<OpenAiTarget, 'apiKey'>
}

/** Returns the headers of every request. */
export function headersOf({ url, apiKey, passFor, hosted }: WireOptions): Record<string, string> {
  const authorization = apiKey === undefined ? undefined : `Bearer ${apiKey}`
  return { ...passFor?.(url), ...hosted?.headers, ...defined({ authorization }) }
}

/** Parses an error response: `{"error": "…"}` or `{"error": {"message": "…"}}`; otherwise uses the raw body. */
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
    // Not JSON: the raw body is the message.
  }
  return text.trim().slice(0, 500) || undefined
}

/** Returns the milliseconds of a `Retry-After` header in seconds (RFC 9110, section 10.2.3). Ignores dates. */
function retryAfter(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}
