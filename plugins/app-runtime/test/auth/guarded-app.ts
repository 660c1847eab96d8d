import type { ServedApp } from '../../../../test/e2e/served-in-process.ts'
import { SECRET } from './tokens.ts'

/** Settings of the tests: the second secret signs their tokens. */
export const SET = [`plugins.app-runtime.auth.secret=["another secret of thirty-two characters", "${SECRET}"]`]

export interface Answer {
  readonly status: number
  readonly body: any
  readonly headers: Headers
}

/** Sends a request: its method and path, with an empty object as its body unless `body` is another one. */
export async function call(
  app: Pick<ServedApp, 'url'>,
  request: string,
  headers: Readonly<Record<string, string>> = {},
  body = '{}'
): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ')
  const init = method === 'GET' ? {} : { body }
  const type = method === 'GET' ? {} : { 'content-type': 'application/json' }
  const response = await fetch(app.url + path, { method, headers: { ...type, ...headers }, ...init })
  return { status: response.status, body: jsonOf(await response.text()), headers: response.headers }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
