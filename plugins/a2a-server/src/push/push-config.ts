import { randomUUID } from 'node:crypto'
import type { TaskPushNotificationConfig } from '@a2a-js/sdk'
import type { PushConfig } from '../tasks/event.ts'
import { malformed } from '../wire/input.ts'

const MAX_ID_CHARS = 256
const MAX_URL_CHARS = 2_048
const MAX_SECRET_CHARS = 4_096
/** Characters that a header value may have. */
const HEADER_VALUE = /^[\x20-\x7e]*$/
/** Token of RFC 9110. */
const SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/

/** Reads a webhook from the wire; one without an id gets one. Throws `RequestMalformedError`. */
export function fromWireConfig(
  { id, url, token, authentication }: TaskPushNotificationConfig,
  version: PushConfig['version']
): PushConfig {
  if (id.length > MAX_ID_CHARS || !HEADER_VALUE.test(id))
    throw malformed(`the id of the webhook must have at most ${MAX_ID_CHARS} printable ASCII characters`)
  if (url === '') throw malformed('the url of the webhook is required')
  if (url.length > MAX_URL_CHARS) throw malformed(`the url of the webhook exceeds ${MAX_URL_CHARS} characters`)
  assertSecret('token', token)
  return {
    id: id === '' ? randomUUID() : id,
    url,
    token,
    authentication: authentication === undefined ? null : checkedAuthentication(authentication),
    version
  }
}

/** Returns a webhook as its client sent it. */
export function toWireConfig(
  { id, url, token, authentication }: PushConfig,
  taskId: string
): TaskPushNotificationConfig {
  return { tenant: '', id, taskId, url, token, authentication: authentication ?? undefined }
}

function checkedAuthentication({
  scheme,
  credentials
}: NonNullable<TaskPushNotificationConfig['authentication']>): PushConfig['authentication'] {
  if (!SCHEME.test(scheme)) throw malformed('the authentication of the webhook needs a scheme, such as Bearer')
  if (credentials === '') throw malformed('the authentication of the webhook has no credentials')
  assertSecret('credentials', credentials)
  return { scheme, credentials }
}

function assertSecret(name: string, value: string): void {
  if (value.length > MAX_SECRET_CHARS || !HEADER_VALUE.test(value))
    throw malformed(`the ${name} of the webhook must have at most ${MAX_SECRET_CHARS} printable ASCII characters`)
}
