import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { defined, errorMessage } from '@svc/plugin-sdk'
import { postgresErrors } from './errors.ts'

export interface Host {
  /** Name or address; a folder of Unix sockets begins with `/`. */
  readonly host: string
  readonly port: number
}

/** Parsed URL of a PostgreSQL server with standbys. */
export interface ServerAddress {
  readonly hosts: readonly Host[]
  readonly user: string
  readonly password: string | null
  readonly database: string
  /** False: without encryption. */
  tls(host: string): ConnectionOptions | false
  /** URL without credentials and parameters. */
  readonly location: string
}

export interface AddressOptions {
  readonly url: string
  readonly password?: string | undefined
  readonly caFile?: string | undefined
  /** Folder that paths of files are relative to. */
  readonly folder: string
}

const DEFAULT_PORT = 5_432
const MAX_HOSTS = 16
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof TLS_MODES)[number]
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']

/**
 * Parses `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=…`. Throws `CPG_URL_INVALID` and
 * `CPG_CA_UNREADABLE`; no message contains a part of the URL that may be a credential.
 *
 * Without `sslmode`, a server on this machine is reached without encryption, and any other one with `verify-full`.
 */
export function parseServerAddress(options: AddressOptions): ServerAddress {
  const match = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#@]*)(?:\/([^?#/]*))?(?:\?([^#]*))?$/.exec(options.url)
  if (match === null) throw invalid('it is not of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  const [, credentials = '', authority = '', path = '', query = ''] = match
  const separator = credentials.indexOf(':')
  const user = decode('the user', separator < 0 ? credentials : credentials.slice(0, separator))
  const ownPassword = separator < 0 ? '' : decode('the password', credentials.slice(separator + 1))
  if (user === '') throw invalid('it names no user')
  if (ownPassword !== '' && options.password !== undefined)
    throw invalid('it contains a password, and the setting password contains another one', 'remove one of them')
  const parameters = parseParameters(query)
  const hosts = parseHosts(authority, parameters.get('host'))
  const database = decode('the database', path) || user
  const mode = parseTlsMode(parameters)
  const files = readTlsFiles(parameters, options)
  if (mode === 'disable' && Object.keys(files).length > 0)
    throw invalid('it has certificates, and sslmode=disable', 'remove sslmode, or the certificates')
  return {
    hosts,
    user,
    password: options.password ?? (ownPassword === '' ? null : ownPassword),
    database,
    tls: host =>
      tlsOptions(mode ?? (isLocal(host) && Object.keys(files).length === 0 ? 'disable' : 'verify-full'), files),
    location: `postgres://${hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')}/${encodeURIComponent(database)}`
  }
}

function parseParameters(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (!PARAMETERS.includes(name))
      throw invalid(
        // After an unescaped "?" in a password, its rest would be the name.
        /^[a-z_]{1,32}$/.test(name) ? `it has the parameter ${name}` : 'it has an unknown parameter',
        `known parameters are ${PARAMETERS.join(', ')}; write %3F for a question mark in a password`
      )
    if (parameters.has(name)) throw invalid(`it has the parameter ${name} twice`)
    parameters.set(name, value)
  }
  return parameters
}

function parseHosts(authority: string, folder: string | undefined): Host[] {
  if (folder !== undefined) {
    if (!folder.startsWith('/')) throw invalid('its parameter host is not the absolute path of a folder with a socket')
    if (authority !== '' && !/^:\d+$/.test(authority)) throw invalid('it names a host twice')
    return [{ host: folder, port: authority === '' ? DEFAULT_PORT : parsePort(authority.slice(1)) }]
  }
  const hosts = authority.split(',').map(text => {
    const match = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::(\d+))?$/.exec(text)
    if (match === null) throw invalid(authority === '' ? 'it names no host' : 'a host is not of the form HOST:PORT')
    return {
      host: decode('a host', (match[1] as string).replace(/^\[|\]$/g, '')),
      port: match[2] === undefined ? DEFAULT_PORT : parsePort(match[2])
    }
  })
  if (hosts.length > MAX_HOSTS) throw invalid(`it names ${hosts.length} hosts; the limit is ${MAX_HOSTS}`)
  return hosts
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!(port >= 1 && port <= 65_535)) throw invalid('a port is not a number from 1 to 65535')
  return port
}

function parseTlsMode(parameters: ReadonlyMap<string, string>): TlsMode | null {
  const mode = parameters.get('sslmode')
  if (mode === undefined) return null
  const known = TLS_MODES.find(each => each === mode)
  if (known !== undefined) return known
  const hint = `use one of ${TLS_MODES.join(', ')}`
  if (mode === 'allow' || mode === 'prefer')
    throw invalid(`sslmode=${mode} would send the password without encryption if the server asks for it`, hint)
  throw invalid('its sslmode is unknown', hint)
}

type TlsFiles = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

function readTlsFiles(parameters: ReadonlyMap<string, string>, { caFile, folder }: AddressOptions): TlsFiles {
  if (caFile !== undefined && parameters.has('sslrootcert'))
    throw invalid('it has sslrootcert, and the setting ca_file names another file', 'remove one of them')
  if (parameters.has('sslcert') !== parameters.has('sslkey'))
    throw invalid('it has one of sslcert and sslkey', 'set both or none')
  const read = (file: string | undefined): string | undefined => {
    if (file === undefined) return undefined
    const path = resolve(folder, file)
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      throw postgresErrors.create('CPG_CA_UNREADABLE', `${path} cannot be read: ${errorMessage(error)}`, {
        hint: 'correct the path in [coordination], or the permissions of the file',
        cause: error
      })
    }
  }
  return defined({
    ca: read(caFile ?? parameters.get('sslrootcert')),
    cert: read(parameters.get('sslcert')),
    key: read(parameters.get('sslkey'))
  })
}

function tlsOptions(mode: TlsMode, files: TlsFiles): ConnectionOptions | false {
  if (mode === 'disable') return false
  // As in libpq, "require" encrypts, and checks the server only if certificates to check it with are named.
  if (mode === 'require' && files.ca === undefined) return { ...files, rejectUnauthorized: false }
  if (mode === 'verify-full') return { ...files, rejectUnauthorized: true }
  return { ...files, rejectUnauthorized: true, checkServerIdentity: () => undefined }
}

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function decode(what: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(`${what} has a "%" that is not followed by two hexadecimal digits`, 'write %25 for a percent sign')
  }
}

function invalid(problem: string, hint = 'correct coordination.url or SVC_COORDINATION_URL'): Error {
  return postgresErrors.create('CPG_URL_INVALID', `The URL of the PostgreSQL server is not valid: ${problem}.`, {
    hint,
    at: { path: 'coordination.url' }
  })
}
