import type { HttpHandlers } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'
import type { Access } from './access.ts'
import { A2A_PATH } from './agent-card.ts'
import { cardRoutes } from './card-routes.ts'
import { JsonRpcBinding } from './json-rpc.ts'
import type { A2aRequestHandler } from './request-handler.ts'
import { restRoutes } from './rest.ts'

export interface RouteParts {
  readonly handler: A2aRequestHandler
  readonly access: Access
  readonly log: Logger
  readonly config: Pick<Settings, 'listener' | 'v0_3'>
}

/** Returns all routes: the card, which is public, and both bindings. */
export function a2aRoutes({ handler, access, log, config }: RouteParts): readonly HttpHandlers[] {
  const { listener, v0_3 } = config
  const jsonRpc = new JsonRpcBinding({ handler, access, log, v0_3 })
  return [
    { listener, auth: 'own', routes: cardRoutes(handler, access, v0_3) },
    {
      listener,
      auth: listener === 'main' ? 'shared' : 'own',
      routes: [
        { method: 'POST', path: A2A_PATH, summary: 'Call the agent (A2A, JSON-RPC)', handle: e => jsonRpc.handle(e) },
        ...restRoutes({ handler, access, log })
      ]
    }
  ]
}
