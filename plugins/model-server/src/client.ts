import { createHash } from 'node:crypto'
import { isLoopback } from '@svc/contracts'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the identity of a client for fair queueing: its address. On loopback all programs share one address, so the
 * API key identifies them. Elsewhere keys are ignored: a client could invent many to get more slots.
 */
export function clientOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): string {
  const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
  const { authorization } = headers
  if (authorization === undefined || !isLoopback(address)) return address
  return `${address} ${createHash('sha256').update(authorization).digest('hex').slice(0, 16)}`
}
