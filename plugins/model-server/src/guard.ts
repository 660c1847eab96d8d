import { AccessTokens, hostName, isLoopback, TokenBuckets } from '@svc/contracts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { keyOf } from './client.ts'
import { errors } from './errors.ts'

type Check = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Limit per client address. */
const MAX_WRONG_KEYS_PER_MINUTE = 60

/**
 * Returns a check that requires the API key, with one limit for wrong keys on all routes that use it. Throws
 * `MSV_UNAUTHORIZED` or `MSV_TOO_MANY_KEYS`.
 */
export function requireBearer(key: string): Check {
  const keys = new AccessTokens([key], new TokenBuckets(MAX_WRONG_KEYS_PER_MINUTE))
  return async (request, reply) => {
    const given = keyOf(request.headers)
    const { index, waitMs } =
      given === undefined ? { index: null, waitMs: 0 } : keys.check(given.trim(), request.socket.remoteAddress ?? '')
    if (index !== null) return
    if (waitMs > 0) {
      reply.header('retry-after', String(Math.ceil(waitMs / 1000)))
      throw errors.create(
        'MSV_TOO_MANY_KEYS',
        'too many wrong API keys from this address; wait a minute, then send the right key'
      )
    }
    reply.header('www-authenticate', 'Bearer')
    const problem = given === undefined ? 'no API key was sent' : 'the API key is wrong'
    throw errors.create('MSV_UNAUTHORIZED', `${problem}; send the key of this server as 'Authorization: Bearer KEY'`)
  }
}

/**
 * Rejects requests whose host name is not a loopback name. This prevents DNS rebinding by web pages.
 * Throws `MSV_HOST`.
 */
export async function requireLoopbackHost(request: FastifyRequest): Promise<void> {
  const name = hostName(request.headers.host ?? 'localhost')
  if (isLoopback(name)) return
  throw errors.create('MSV_HOST', `this server accepts the host names localhost and 127.0.0.1, not '${name}'`, {
    hint: 'To serve other host names, set plugins.model-server.host to an address that is not loopback.'
  })
}
