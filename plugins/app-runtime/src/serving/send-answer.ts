import type { HttpExchange } from '@svc/contracts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const LATER = { 'retry-after': '1' }

/** Sends the answer of a function. An error gets the request id, and its code goes into the access record. */
export function sendAnswer(exchange: HttpExchange, status: number, body: string): void {
  if (status < 400) {
    exchange.send(status, JSON_TYPE, body)
    return
  }
  const { caller } = exchange
  const code = codeOf(body)
  if (code !== null) caller.recordError?.(code)
  // A pending workflow is not retried: a retry would start it twice.
  const mayRepeat = status === 503 && code !== 'RUN_WORKFLOW_PENDING'
  exchange.send(status, JSON_TYPE, withRequestId(body, caller.requestId), mayRepeat ? LATER : undefined)
}

/** Adds the request id to a JSON object, which must have at least one field. */
function withRequestId(body: string, requestId: string): string {
  return `${body.slice(0, -1)},"request_id":${JSON.stringify(requestId)}}`
}

function codeOf(body: string): string | null {
  const { code } = JSON.parse(body) as { readonly code?: unknown }
  return typeof code === 'string' ? code : null
}
