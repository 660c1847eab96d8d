import { errorMessage } from '@svc/plugin-sdk'
import { fail } from '../interpreter/failure.ts'
import { Json, NONE, Opaque, some, type Value } from '../interpreter/value.ts'
import { parseClientJson } from '../wire/json-text.ts'
import type { RouteInput } from './messages.ts'

/** Returns the value of `request` in a route. */
export function requestValue(route: string, { query, headers, body }: RouteInput): Value {
  const argument = (args: readonly Value[], method: string): string => {
    const [name] = args
    return typeof name === 'string' ? name : fail('RUN_TYPE', `${method} needs the name as a str`)
  }
  const found = (text: string | null | undefined): Value => (text === null || text === undefined ? NONE : some(text))
  return new Opaque('Request', {
    /** Parses the body as JSON. Throws `RUN_BODY` for invalid JSON. */
    json: () => {
      try {
        return new Json(parseClientJson(body), true)
      } catch (cause) {
        return fail('RUN_BODY', `the body of ${route} is not accepted as JSON: ${errorMessage(cause)}`)
      }
    },
    text: () => body,
    header: args => found(headers[argument(args, 'header').toLowerCase()]),
    query: args => found(new URLSearchParams(query).get(argument(args, 'query'))),
    method: () => route.slice(0, route.indexOf(' '))
  })
}
