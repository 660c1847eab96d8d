import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Address } from './address.ts'

/** Methods that a peer may call without a token. */
export type UnprovenAccess = 'all' | 'open-methods' | 'none'

/** Returns a token of 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export interface AccessSettings {
  readonly token: string
  readonly require_token: boolean
}

/** Stdio belongs to the parent process, and the mode of a unix socket excludes other users. */
export function unprovenAccess({ kind }: Address, { token, require_token }: AccessSettings): UnprovenAccess {
  if (kind === 'stdio') return 'all'
  if (token !== '' || require_token) return 'none'
  return kind === 'unix' ? 'all' : 'open-methods'
}

/** Methods of clients that predate the token. Any user of the machine may call them over TCP. */
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

/** False for a method that requires the token, and for an open method whose params make it write a file. */
export function isOpen(method: string, params: unknown): boolean {
  const writesFile = (params as { readonly write_to_disk?: unknown } | null | undefined)?.write_to_disk
  return OPEN_METHODS.has(method) && (writesFile === undefined || writesFile === false)
}

/** The digest of the presented token; null if it is not in `tokens`. Constant time. */
export function matchToken(shown: unknown, tokens: readonly string[]): string | null {
  const given = digest(String(shown))
  let match: string | null = null
  for (const token of tokens) {
    const expected = digest(token)
    if (timingSafeEqual(Buffer.from(given), Buffer.from(expected))) match = expected
  }
  return match
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
