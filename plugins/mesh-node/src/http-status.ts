import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import { meshNodeErrors } from './errors.ts'

/** Maximum characters of an answer's body in an error. */
const MAX_ERROR_BODY = 240

/** Answer of a control plane with a status outside 2xx. */
export interface HttpStatus {
  readonly status: number
  /** Method and path of the request. */
  readonly context: string
  /** Start of the body, at most 240 characters. */
  readonly body: string
}

export type HttpStatusError = SvcError & { readonly data: HttpStatus }

export function httpStatusError(status: number, context: string, text: string, hint?: string): HttpStatusError {
  const body = text.replace(/\s+/g, ' ').trim().slice(0, MAX_ERROR_BODY)
  const message = `${context}: HTTP status ${status}${body === '' ? '' : `: ${body}`}`
  const data: HttpStatus = { status, context, body }
  return meshNodeErrors.create('MND_HTTP_STATUS', message, { data, hint: hint ?? hintFor(status) }) as HttpStatusError
}

/** Returns true for an `MND_HTTP_STATUS` error; with statuses, only for one of them. */
export function isHttpStatus(error: unknown, ...statuses: readonly number[]): error is HttpStatusError {
  if (!isSvcError(error, 'MND_HTTP_STATUS')) return false
  return statuses.length === 0 || statuses.includes((error as HttpStatusError).data.status)
}

function hintFor(status: number): string {
  if (status === 401) return 'set SVC_MESH_TOKEN, or the token of a role, to a token that the control plane accepts'
  if (status === 403)
    return 'check the role of the token, the scope, and whether the node is quarantined or in maintenance'
  if (status === 413) return 'shorten the payload, or raise SVC_MESH_HTTP_MAX_BODY_BYTES of the control plane'
  if (status === 429) return 'raise SVC_MESH_HTTP_RATE_LIMIT_PER_SEC of the control plane, or poll less often'
  if (status >= 500) return 'read the log of the control plane'
  return 'svc mesh status shows the nodes of the mesh'
}
