import { createHash, randomBytes } from 'node:crypto'
import type { Address } from './address.ts'

/** Methods that a client may call without a token. */
export type AnonymousAccess = 'all' | 'open-methods' | 'none'

/** Returns a random 256-bit token. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export interface AccessSettings {
  readonly token: string
  readonly require_token: boolean
}

/**
 * Returns the access without a token. Only the parent process has stdio, and the mode of a unix socket excludes other
 * users.
 */
export function anonymousAccess({ kind }: Address, { token, require_token }: AccessSettings): AnonymousAccess {
  if (kind === 'stdio') return 'all'
  if (token !== '' || require_token) return 'none'
  return kind === 'unix' ? 'all' : 'open-methods'
}

/** Methods that any user of the machine may call over TCP, for clients from before tokens existed. */
const OPEN_METHODS: ReadonlySet<string> = new Set([
  'rpc.discover',
  'orch.ping',
  'orch.status',
  'orch.workspace_journey',
  'orch.events',
  'orch.poll_events',
  'orch.agent_ids',
  'orch.spawn_agent',
  'orch.spawn_agent_ext',
  'orch.retire_agent',
  'orch.pause_agent',
  'orch.resume_agent',
  'orch.drain_agent',
  'orch.rebalance',
  'orch.submit_task',
  'orch.task_status',
  'orch.complete_task',
  'orch.fail_task',
  'orch.cancel_task',
  'orch.reorder_task',
  'ai.plan.new',
  'ai.plan.replan',
  'ai.plan.status',
  'ai.plan.execute'
])

/** True if a call requires no token: the method is open, and its params do not make it write a file. */
export function isOpen(method: string, params: unknown): boolean {
  const writesFile = (params as { readonly write_to_disk?: unknown } | null | undefined)?.write_to_disk
  return OPEN_METHODS.has(method) && (writesFile === undefined || writesFile === false)
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
