import type { FastifyInstance } from 'fastify'
import { errors } from '../errors.ts'

/** Ollama routes that this server does not have, and the alternative to each. */
const INSTEAD: readonly (readonly ['POST' | 'DELETE', string, string])[] = [
  ['POST', '/api/push', 'copy the files yourself'],
  ['POST', '/api/blobs/:digest', 'create a run directory and add it with svc model add NAME PATH']
]

/** Method and path of each of these routes. */
export const ROUTES_ELSEWHERE = INSTEAD.map(([method, path]) => ({ method, path }))

/** Adds these routes; each returns 501 with the alternative. */
export function routesElsewhere(scope: FastifyInstance): void {
  for (const [method, url, instead] of INSTEAD) {
    const handler = async () => {
      const message = `this server neither creates nor uploads models, so there is no ${method} ${url}: ${instead}`
      throw errors.create('MSV_ROUTE_UNSUPPORTED', message)
    }
    scope.route({ method, url, handler })
  }
}
