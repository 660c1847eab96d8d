import { resolve } from 'node:path'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { defined } from '@svc/plugin-sdk'
import { natsErrors } from './errors.ts'
import type { Settings } from './settings.ts'

const CONNECT_TIMEOUT_MS = 5_000
const RECONNECT_WAIT_MS = 500
/** A server that answers no ping for twice this time counts as lost: until then, hints wait in memory. */
const PING_INTERVAL_MS = 5_000

/** Returns the options of a connection. Throws `FNA_SETTINGS_INVALID`. */
export function connectOptions(settings: Settings, projectRoot: string): NodeConnectionOptions {
  const { servers, token, user, password, ca_file } = settings
  if (token !== undefined && user !== undefined)
    throw invalid('token and user are both set', 'remove one of them', 'token')
  if ((user === undefined) !== (password === undefined))
    throw invalid('one of user and password is missing', 'set both or none', user === undefined ? 'user' : 'password')
  const encrypted = servers.filter(server => server.startsWith('tls://')).length
  if (encrypted !== 0 && encrypted !== servers.length)
    throw invalid('some servers begin with tls:// and others with nats://', 'use one of them', 'servers')
  const tls = ca_file === undefined ? (encrypted > 0 ? {} : undefined) : { caFile: resolve(projectRoot, ca_file) }
  return defined({
    servers: servers.map(server => server.replace(/^\w+:\/\//, '')),
    token,
    user,
    pass: password,
    tls,
    name: 'svc',
    // A process does not receive its own hints.
    noEcho: true,
    timeout: CONNECT_TIMEOUT_MS,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    maxReconnectAttempts: -1,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2
  }) as NodeConnectionOptions
}

function invalid(problem: string, hint: string, setting: string): Error {
  return natsErrors.create('FNA_SETTINGS_INVALID', `The settings of NATS are not valid: ${problem}.`, {
    hint,
    at: { path: `plugins.fanout-nats.${setting}` }
  })
}
