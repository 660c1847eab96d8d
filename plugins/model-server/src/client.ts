import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { isLoopback } from './guard.ts'

/**
 * Who asks, for a queue that is fair between clients: the address. Programs of one machine share theirs, so there the
 * key that a program sends tells it from others; from farther away anybody could make up keys to get more turns.
 */
export function clientOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): string {
  const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
  const { authorization } = headers
  if (authorization === undefined || !isLoopback(address)) return address
  return `${address} ${createHash('sha256').update(authorization).digest('hex').slice(0, 16)}`
}
