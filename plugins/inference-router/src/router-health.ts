import type { Health } from '@svc/plugin-sdk'
import type { ModelServer } from './model-server.ts'
import { statusOf } from './servers-operation.ts'

/** Returns `ok` if every server is ready or drained, `failed` if none can receive a request, else `degraded`. */
export function routerHealth(servers: Iterable<ModelServer>, staleMs: number): Health {
  const all = [...servers].map(server => ({ name: server.name, status: statusOf(server, staleMs) }))
  if (all.length === 0) return { status: 'degraded', detail: 'no model servers are configured' }
  const troubled = all.filter(({ status }) => status !== 'ready' && status !== 'drained')
  if (troubled.length === 0) return { status: 'ok' }
  const detail = troubled.map(({ name, status }) => `${name} is ${status}`).join(', ')
  return { status: all.some(({ status }) => status === 'ready') ? 'degraded' : 'failed', detail }
}
