import { parseJsonBody } from '@svc/contracts'
import type { FastifyInstance } from 'fastify'

/** Makes a Fastify instance accept only strict JSON bodies. */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    /^application\/(?:[\w.+-]+\+)?json(?:;|$)/,
    { parseAs: 'buffer' },
    (_request, body, done) => {
      try {
        done(null, parseJsonBody(body as Buffer))
      } catch (error) {
        done(error as Error)
      }
    }
  )
}
