import { WireFailure } from '@svc/contracts'

const MAX_MESSAGE_CHARACTERS = 500
const MAX_ERROR_BYTES = 65_536

/** Reads an error response: `{"error": {"message": …}}`, a list with such an object, or text. */
export async function failureOf(response: Response): Promise<WireFailure> {
  const text = await readAtMost(response, MAX_ERROR_BYTES)
  const { message, retryMs } = parseFailure(text)
  return new WireFailure(response.status, message ?? response.statusText, retryAfter(response.headers) ?? retryMs)
}

interface FailureBody {
  readonly message?: unknown
  readonly details?: readonly { readonly '@type'?: unknown; readonly retryDelay?: unknown }[]
}

function parseFailure(text: string): { readonly message: string | undefined; readonly retryMs: number | null } {
  const plain = { message: text.trim().slice(0, MAX_MESSAGE_CHARACTERS) || undefined, retryMs: null }
  try {
    const parsed: unknown = JSON.parse(text)
    const document = (Array.isArray(parsed) ? parsed[0] : parsed) as { error?: FailureBody | string } | null
    const error = document?.error
    if (typeof error === 'string') return { message: error.slice(0, MAX_MESSAGE_CHARACTERS), retryMs: null }
    if (typeof error?.message !== 'string') return plain
    return { message: error.message.slice(0, MAX_MESSAGE_CHARACTERS), retryMs: googleDelay(error) }
  } catch {
    return plain
  }
}

/** Returns the milliseconds of `google.rpc.RetryInfo`, such as `"retryDelay": "35s"`. */
function googleDelay({ details }: FailureBody): number | null {
  if (!Array.isArray(details)) return null
  const delay = details.find(each => typeof each?.retryDelay === 'string')?.retryDelay
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(String(delay))?.[1]
  return seconds === undefined ? null : Number(seconds) * 1_000
}

/** Returns the milliseconds of a `Retry-After` header: seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(headers: Headers): number | null {
  const value = headers.get('retry-after')
  if (value === null) return null
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

async function readAtMost(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for await (const part of response.body ?? []) {
      text += decoder.decode(part, { stream: true })
      bytes += part.byteLength
      if (bytes > maxBytes) break
    }
  } catch {
    // A connection that breaks off here hides only a part of the message.
  }
  return text
}
