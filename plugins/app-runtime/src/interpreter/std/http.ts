import { isSvcError } from '@svc/plugin-sdk'
import type { HttpRequest, HttpResponse } from '../../threads/http-requests.ts'
import { parseJson, printJson } from '../../wire/json-text.ts'
import type { Machine } from '../machine.ts'
import { type Native, native, textArg } from '../native.ts'
import { toJson } from '../to-json.ts'
import { error, ok, type Value } from '../value.ts'

/** Maximum characters of a response body in an error message. */
const MAX_REASON_LENGTH = 200

const getText = native(1, 1, (args, machine) => sendRequest(machine, { method: 'GET', url: textArg(args, 0) }), 'net')

const postJson = native(
  2,
  2,
  (args, machine) => {
    const [, body = null] = args
    // A str that is already JSON is sent unchanged.
    const text = typeof body === 'string' && isJson(body) ? body : printJson(toJson(body))
    return sendRequest(machine, { method: 'POST', url: textArg(args, 0), body: text, type: 'application/json' })
  },
  'net'
)

/** HTTP requests, for programs with the capability net. They return the response body, or an Error. */
export const REQUESTS: Readonly<Record<string, Native>> = {
  'std.http.get_text': getText,
  'std.http.post_json': postJson,
  'HTTP.get_text': getText,
  'HTTP.post_json': postJson
}

function sendRequest(machine: Machine, request: HttpRequest): Value {
  const { bridge } = machine.host
  if (bridge === null) return error('HTTP requests are not available here')
  let response: HttpResponse
  try {
    response = bridge.ask('http.request', request, machine.millisecondsLeft()) as HttpResponse
  } catch (cause) {
    if (isSvcError(cause) && cause.code === 'RUN_HTTP_FAILED') return error(cause.message)
    throw cause
  }
  machine.allocate(2 * response.text.length)
  if (response.status < 400) return ok(response.text)
  const reason = response.text.trim().slice(0, MAX_REASON_LENGTH)
  return error(`${request.url}: HTTP status ${response.status}${reason === '' ? '' : `: ${reason}`}`)
}

function isJson(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}
