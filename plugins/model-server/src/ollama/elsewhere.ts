import type { FastifyInstance } from 'fastify'
import { errors } from '../errors.ts'

/** Routes of the format that manage a store of models, which this server has not: what to do instead. */
const INSTEAD: readonly (readonly ['POST' | 'DELETE', string, string])[] = [
  ['POST', '/api/pull', 'put the run directory on this machine and start the server with --model DIR'],
  ['POST', '/api/push', 'copy the run directory yourself'],
  ['POST', '/api/create', 'make a run directory and start the server with --model DIR'],
  ['POST', '/api/copy', 'give the model another name with the setting plugins.model-server.model_name'],
  ['DELETE', '/api/delete', 'stop the server and delete the run directory yourself'],
  ['POST', '/api/blobs/:digest', 'make a run directory and start the server with --model DIR']
]

/** Method and path of each. */
export const ROUTES_ELSEWHERE = INSTEAD.map(([method, path]) => ({ method, path }))

/** Adds them; each answers 501 with what to do. */
export function routesElsewhere(scope: FastifyInstance): void {
  for (const [method, url, instead] of INSTEAD) {
    const handler = async () => {
      const message = `this server serves one run directory and manages no models, so there is no ${method} ${url}: ${instead}`
      throw errors.create('MSV_ROUTE_UNSUPPORTED', message)
    }
    scope.route({ method, url, handler })
  }
}
