import { randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { join, relative } from 'node:path'
import { MESH_PORT, type MeshSettings, normalizeControlUrls } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type ServeInstead, t } from '@svc/plugin-sdk'
import { joinCommand } from './join-command.ts'
import type { MembershipFile } from './membership.ts'

/** Lifetime of the one-time token of `svc mesh up`. */
const BOOTSTRAP_MS = 10 * 60 * 1_000
const ANY_HOSTS: readonly string[] = ['0.0.0.0', '::']

const address = {
  host: t.optional(t.string({ minLength: 1, description: 'Address to bind' })),
  port: t.optional(t.integer({ minimum: 1, maximum: 65_535, description: 'Port to bind; default 9847' }))
}

export const serveCommand: CommandDescriptor = {
  command: 'mesh serve',
  summary: 'Run a control plane in this terminal',
  input: t.object(address)
}

export const upCommand: CommandDescriptor = {
  command: 'mesh up',
  summary: 'Run a control plane, and print the command that joins it',
  input: t.object({
    ...address,
    url: t.optional(t.string({ minLength: 1, description: 'URL for other machines; default: an address of this one' }))
  })
}

export interface ServePlace {
  readonly projectRoot: string
  readonly stateRoot: string
}

/** Returns the handler of `svc mesh serve`: the process becomes a control plane, and runs no other plugins. */
export function serveHandler(place: ServePlace): CommandHandler {
  return ({ host, port }) => controlPlane(place, { host, port })
}

/**
 * Returns the handler of `svc mesh up`: like `svc mesh serve`, on every address, with a mesh token and a one-time token.
 * The mesh token is kept as the membership of this project, so that it stays the same.
 */
export function upHandler(place: ServePlace, settings: MeshSettings, membership: MembershipFile): CommandHandler {
  return ({ host = '0.0.0.0', port = MESH_PORT, url }, io) => {
    const urls = normalizeControlUrls(url === undefined ? `${reachable(String(host))}:${port}` : String(url))
    if (settings.roleTokens().mesh === undefined) {
      const token = randomBytes(32).toString('base64url')
      membership.set({ controlUrls: urls, token, scopeId: settings.scopeId })
    } else if (settings.controlUrls.length === 0) {
      membership.set({ controlUrls: urls, token: null, scopeId: settings.scopeId })
    }
    const bootstrap = randomBytes(24).toString('base64url')
    const expires = Date.now() + BOOTSTRAP_MS
    const command = joinCommand(urls, bootstrap)
    const text = io.json
      ? `${JSON.stringify({ control_urls: urls, bootstrap_token: bootstrap, expires_unix_ms: expires, command })}\n`
      : `Join from another machine, once and within 10 minutes:\n\n  ${command}\n\nMore tokens: svc mesh pair\n`
    return controlPlane(place, {
      host,
      port,
      onServing: () => void io.stdout.write(text),
      set: {
        'plugins.mesh-control.bootstrap_token': bootstrap,
        'plugins.mesh-control.bootstrap_expires_unix_ms': expires
      }
    })
  }
}

interface ControlPlaneOptions {
  readonly host?: unknown
  readonly port?: unknown
  readonly set?: Readonly<Record<string, unknown>>
  readonly onServing?: () => void
}

function controlPlane(
  { projectRoot, stateRoot }: ServePlace,
  { host, port, set, onServing }: ControlPlaneOptions
): ServeInstead {
  const inProject = !relative(projectRoot, stateRoot).startsWith('..')
  return {
    only: ['mesh-control'],
    ...(onServing && { onServing }),
    set: {
      'plugins.http.main': false,
      ...(host === undefined ? null : { 'plugins.mesh-control.host': host }),
      ...(port === undefined ? null : { 'plugins.mesh-control.port': port }),
      // Outside of a project there is no primary database that anything else uses.
      ...(inProject ? null : { 'plugins.coordination.file': join(stateRoot, 'mesh', 'coordination.db') }),
      ...set
    }
  }
}

/** Returns an address under which other machines reach this one: the host, or the first external IPv4 address. */
function reachable(host: string): string {
  if (!ANY_HOSTS.includes(host)) return host.includes(':') ? `[${host}]` : host
  const external = Object.values(networkInterfaces())
    .flatMap(each => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)
  return external?.address ?? '127.0.0.1'
}
