import type { WireError } from '../wire-error.ts'

export type AnthropicError = {
  readonly type: 'error'
  readonly error: { readonly type: string; readonly message: string }
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error'
}

export function anthropicError({ status, code, message }: WireError): AnthropicError {
  const other = status < 500 ? 'invalid_request_error' : 'api_error'
  return {
    type: 'error',
    error: { type: code === 'MSV_BUSY' ? 'overloaded_error' : (TYPES[status] ?? other), message }
  }
}
