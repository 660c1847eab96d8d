import { createHash } from 'node:crypto'
import { isLoopback } from '@svc/contracts'
import type { FastifyRequest } from 'fastify'
import { keyOf } from '../client.ts'

/**
 * Returns the owner of a caller's stored responses. If the server requires an API key, all callers have the same key and
 * the same owner. Otherwise the address and the key of the request identify the caller; all loopback addresses are one.
 */
export function ownerOf({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>, keyRequired: boolean): string {
  const address = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
  const place = keyRequired ? 'key' : isLoopback(address) ? 'loopback' : address
  return createHash('sha256')
    .update(JSON.stringify([place, keyOf(headers) ?? '']))
    .digest('hex')
}
