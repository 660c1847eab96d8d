import { createHash } from 'node:crypto'
import { isLoopback } from '@svc/contracts'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the identity of a client for fair queueing: its address. On loopback all programs share one address, so the
 * API key identifies them. Elsewhere keys are ignored: a client could invent many to get more slots.
 */
export function clientOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): string {
  const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
  const key = keyOf(headers)
  if (key === undefined || !isLoopback(address)) return address
  return `${address} ${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
}

/** Returns the API key of a request: a bearer token, or the header `x-api-key` of Anthropic's clients. */
export function keyOf({ authorization, 'x-api-key': key }: FastifyRequest['headers']): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1]
  return bearer ?? (typeof key === 'string' && key !== '' ? key : undefined)
}
