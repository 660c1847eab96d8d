import type { WireError } from '../wire-error.ts'

export interface OpenAiError {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string | null
  }
}

/** Error codes that clients of the API expect, by error code of this server. */
const CODES: Readonly<Record<string, string>> = {
  MSV_UNSUPPORTED: 'unsupported_parameter',
  MSV_CONSTRAINT_UNSUPPORTED: 'unsupported_value',
  MSV_CONTEXT_EXCEEDED: 'context_length_exceeded',
  MSV_UNAUTHORIZED: 'invalid_api_key',
  MSV_MODEL_UNKNOWN: 'model_not_found',
  MSV_RESPONSE_UNKNOWN: 'response_not_found',
  MSV_ROUTE_UNKNOWN: 'unknown_url',
  MSV_ROUTE_UNSUPPORTED: 'unsupported_url',
  MSV_EMBEDDINGS: 'unsupported_url',
  MSV_BODY_TOO_LARGE: 'request_too_large',
  MSV_BUSY: 'server_busy',
  MSV_MODEL_LOADING: 'model_loading',
  MSV_MODEL_FAILED: 'model_failed',
  MSV_TIMEOUT: 'timeout'
}

export function openAiError({ status, code, message, param }: WireError): OpenAiError {
  const type = status === 401 ? 'authentication_error' : status >= 500 ? 'server_error' : 'invalid_request_error'
  return { error: { message, type, param, code: CODES[code] ?? null } }
}
