import type { FastifyInstance } from 'fastify'
import { errors } from '../errors.ts'

/** Ollama routes that manage a store of models, which this server does not have, and the alternative to each. */
const INSTEAD: readonly (readonly ['POST' | 'DELETE', string, string])[] = [
  ['POST', '/api/pull', 'copy the run directory to this machine and start the server with --model DIR'],
  ['POST', '/api/push', 'copy the run directory yourself'],
  ['POST', '/api/create', 'create a run directory and start the server with --model DIR'],
  ['POST', '/api/copy', 'rename the model with the setting plugins.model-server.model_name'],
  ['DELETE', '/api/delete', 'stop the server and delete the run directory yourself'],
  ['POST', '/api/blobs/:digest', 'create a run directory and start the server with --model DIR']
]

/** Method and path of each of these routes. */
export const ROUTES_ELSEWHERE = INSTEAD.map(([method, path]) => ({ method, path }))

/** Adds these routes; each returns 501 with the alternative. */
export function routesElsewhere(scope: FastifyInstance): void {
  for (const [method, url, instead] of INSTEAD) {
    const handler = async () => {
      const message = `this server serves one run directory and manages no models, so there is no ${method} ${url}: ${instead}`
      throw errors.create('MSV_ROUTE_UNSUPPORTED', message)
    }
    scope.route({ method, url, handler })
  }
}
