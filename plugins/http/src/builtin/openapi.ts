import { createHash } from 'node:crypto'
import type { GenerationView } from '@svc/contracts'
import { describeApi } from '../openapi.ts'
import type { BuiltIn, BuiltInResponse } from './built-in.ts'

/** Returns /openapi.json of one generation; the document is built on the first request. */
export function openApiRoute(generation: GenerationView, options: Parameters<typeof describeApi>[1]): BuiltIn {
  let known: { readonly body: string; readonly etag: string } | undefined
  return {
    path: '/openapi.json',
    open: false,
    mainOnly: true,
    answer({ request }): BuiltInResponse {
      if (known === undefined) {
        const body = JSON.stringify(describeApi(generation, options))
        known = { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
      }
      const type = 'application/json; charset=utf-8'
      const headers = { etag: known.etag, 'cache-control': 'no-cache' }
      const fresh = request.headers['if-none-match']?.includes(known.etag) === true
      return fresh ? { status: 304, type, body: '', headers } : { type, body: known.body, headers }
    }
  }
}
