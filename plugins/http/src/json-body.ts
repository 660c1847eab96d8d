import { parseJsonBody } from '@svc/contracts'
import type { FastifyInstance } from 'fastify'

/** Makes strict JSON the only body that a Fastify instance reads. */
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
