import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { isLoopback } from './guard.ts'

/**
 * Identifies the client for fair queueing: by its address. On loopback all programs share an address, so there the API
 * key identifies the client. For other addresses a client could invent keys to get more slots.
 */
export function clientOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): string {
  const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
  const { authorization } = headers
  if (authorization === undefined || !isLoopback(address)) return address
  return `${address} ${createHash('sha256').update(authorization).digest('hex').slice(0, 16)}`
}
