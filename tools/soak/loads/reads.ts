import type { Load, LoadContext } from './load.ts'
import { repeat } from './load.ts'

const PATHS = [
  '/health',
  '/api/orchestrator/status',
  '/api/database/status',
  '/kernel/plugins',
  '/api/orchestrator/tasks?limit=20',
  '/api/models/stats',
  '/api/orchestrator/events?limit=20',
  '/openapi.json',
  '/api/workflows?limit=20',
  '/metrics'
]

/** Operations over HTTP that only read. */
export function reads(context: LoadContext): Load {
  return {
    name: 'HTTP operations',
    run: () =>
      repeat(context, 400, (node, count) =>
        context.ledger.attempt('HTTP operations', node.name, () =>
          node.client.request(`${node.http}${PATHS[count % PATHS.length]}`)
        )
      )
  }
}
