import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import parse from 'secure-json-parse'
import { duplicateKey } from './duplicate-key.ts'
import { httpErrors } from './errors.ts'

/**
 * Makes JSON the only body that a Fastify instance reads, and reads it strictly: UTF-8 alone, no key twice in one object, no
 * `__proto__`, no `constructor.prototype`, and not nested so deep that walking it would overflow the stack.
 */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    /^application\/(?:[\w.+-]+\+)?json(?:;|$)/,
    { parseAs: 'buffer' },
    (_request, body, done) => {
      try {
        done(null, readJson(body as Buffer))
      } catch (error) {
        done(error as Error)
      }
    }
  )
}

/** Throws `HTTP_BODY_NOT_UTF8` or `HTTP_BODY_INVALID`; undefined for a body without a byte. */
export function readJson(bytes: Buffer): unknown {
  // Many clients announce JSON and then send nothing: that is no body.
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw httpErrors.create('HTTP_BODY_NOT_UTF8', 'the body is not valid UTF-8')
  try {
    return parseJson(bytes.toString('utf8'))
  } catch (error) {
    throw httpErrors.create('HTTP_BODY_INVALID', `the body is not acceptable JSON: ${(error as Error).message}`)
  }
}

/** Throws a `SyntaxError` that says where the text is wrong, or which key is refused. */
export function parseJson(text: string): unknown {
  const value = parse(text) as unknown
  const twice = duplicateKey(text, value)
  if (twice !== null) throw new SyntaxError(`the key ${JSON.stringify(twice)} appears twice in one object`)
  return value
}
