import { inferenceErrors, isWireFailure } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { HOSTED, type HostedName } from './provider-list.ts'

/** Error of a request to a hosted provider, with what follows from it. */
export interface ExplainedFailure {
  readonly error: unknown
  /** Whether another model may answer the request. */
  readonly isRetryable: boolean
  /** Mark for the model; null if it is not at fault. */
  readonly mark: 'rate-limit' | 'fault' | null
  /** Milliseconds; null if the provider names none. */
  readonly retryAfterMs: number | null
}

interface Attempt {
  readonly provider: HostedName
  readonly model: string
  /** Replaced in messages, since some providers repeat it. */
  readonly apiKey: string | undefined
  /** Whether a part of the answer has arrived. */
  readonly began: boolean
  /** Retry delay if the provider names none. */
  readonly coolDownMs: number
}

/** Translates an error of a wire to one of `inferenceErrors`. Errors of taps and of addresses stay as they are. */
export function explain(error: unknown, { provider, model, apiKey, began, coolDownMs }: Attempt): ExplainedFailure {
  if (isSvcError(error)) return { error, isRetryable: false, mark: null, retryAfterMs: null }
  const { title, variable } = HOSTED[provider]
  const hide = (text: string): string => (apiKey === undefined || apiKey === '' ? text : text.replaceAll(apiKey, '***'))
  const server = `${title} (model ${model})`
  const failure = isWireFailure(error) ? error : null
  const message = hide(failure?.message ?? connectFailure(error))
  const status = failure?.status ?? 0
  const retryAfterMs = failure?.retryAfterMs ?? null
  const isLimit = status === 429
  const isFault = failure === null || status >= 500
  const mark = isLimit ? 'rate-limit' : isFault ? 'fault' : null
  const result = (made: Error, isRetryable: boolean): ExplainedFailure => ({
    error: made,
    isRetryable,
    mark,
    retryAfterMs
  })
  const create = inferenceErrors.create
  if (began) return result(create('ICL_BROKEN_OFF', `the answer of ${server} ended early: ${message}`), false)
  if (failure === null || status === 504)
    return result(create('ICL_UNREACHABLE', `${server} is not reachable: ${message}`), true)
  if (status === 401 || status === 403) {
    const made = create('ICL_UNAUTHORIZED', `${title} does not accept the key of ${variable}: ${message}`, {
      at: { path: `plugins.providers.${provider}_api_key` },
      hint: `set ${variable} to a valid key`
    })
    return result(made, true)
  }
  if (status === 404) {
    const data = { model, provider }
    return result(
      create('ICL_MODEL_UNKNOWN', `${title} does not offer the model "${model}": ${message}`, { data }),
      true
    )
  }
  if (isLimit || status === 503 || status === 529) {
    const data = { retryAfterMs: retryAfterMs ?? coolDownMs, provider }
    return result(create('ICL_BUSY', `${server} is busy: ${message}`, { data }), true)
  }
  const refusal = create('ICL_REFUSED', `${server} rejected the request (${status}): ${message}`, { data: { status } })
  // HTTP 402: the account has no credit.
  return result(refusal, isFault || status === 402)
}

/** Returns the reason in one line: `fetch` hides it in the cause of its error. */
export function connectFailure(error: unknown): string {
  const { cause } = error instanceof Error ? error : { cause: undefined }
  return cause instanceof Error && cause.message !== '' ? cause.message : errorMessage(error)
}
