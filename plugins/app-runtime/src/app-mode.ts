import { connect } from 'node:net'
import { resolve } from 'node:path'
import { type KernelAdmin, observabilitySink, type PluginReport, type Program } from '@svc/contracts'
import { type CommandIo, type ServeInstead, t } from '@svc/plugin-sdk'

export const appOptions = {
  port: t.optional(t.integer({ minimum: 0, maximum: 65_535, description: 'Port of the served program.' })),
  database: t.optional(
    t.string({
      minLength: 1,
      description: 'Database of the program: a file, or memory for an empty temporary one.'
    })
  )
}

export interface AppInput {
  readonly port?: number
  readonly database?: string
}

/** Plugins that a served program needs. */
const PLUGINS = ['app-runtime', 'http', 'mcp', 'database', 'compiler', 'web']

/** True if a program is served: it has endpoints, pages or scheduled functions, or tables and no function main. */
export function isApp({ module, components }: Program): boolean {
  const { routes, query_fns, mutation_fns, server_fns, tables, mcp_tools, mcp_resources, functions } = module
  const callable = [routes, query_fns, mutation_fns, server_fns, mcp_tools, mcp_resources]
  if (callable.some(each => each.length > 0)) return true
  if (components.length > 0 || functions.some(each => each.schedule_interval !== undefined)) return true
  // A program with a function main runs once, even if it has tables.
  return tables.length > 0 && !functions.some(({ name }) => name === 'main')
}

/** Returns the result of a command that serves a program. */
export async function servedProgram(
  file: string,
  { port, database }: AppInput,
  admin: KernelAdmin | undefined,
  more: Readonly<Record<string, unknown>> = {},
  /** Further plugins, which are left out if they are not installed or disabled. */
  others: readonly string[] = []
): Promise<ServeInstead> {
  return {
    only: [...PLUGINS, ...recorders(admin), ...others.filter(name => isUsable(admin, name))],
    set: {
      ...unlessConfigured(admin, REQUEST_FILE, true),
      'plugins.app-runtime.program': resolve(file),
      ...(port === undefined ? {} : { 'plugins.app-runtime.port': port }),
      ...(database === undefined ? {} : { 'plugins.app-runtime.database': resolveDatabase(database) }),
      // Another svc process may use the management port.
      ...((await isPortInUse(admin)) ? { 'plugins.http.port': 0 } : {}),
      ...more
    }
  }
}

function isOff({ state }: PluginReport): boolean {
  return state === 'disabled' || state === 'invalid'
}

function isUsable(admin: KernelAdmin | undefined, plugin: string): boolean {
  return admin?.plugins().some(each => each.name === plugin && !isOff(each)) === true
}

/** Returns the plugins that record requests and log lines, unless they are disabled. */
function recorders(admin: KernelAdmin | undefined): string[] {
  const records = ({ name }: PluginReport): boolean =>
    admin?.manifest(name)?.provides.includes(observabilitySink.id) === true
  return (admin?.plugins() ?? []).filter(each => !isOff(each) && records(each)).map(({ name }) => name)
}

/** Setting with which `svc requests` finds every request of this process. */
const REQUEST_FILE = 'plugins.observability.request_file'
/** Setting that records the SQL of every request. */
export const SAMPLE = 'plugins.observability.sample'

/** Returns a setting, unless it is configured or the plugin is absent. */
export function unlessConfigured(
  admin: KernelAdmin | undefined,
  key: string,
  value: unknown
): Readonly<Record<string, unknown>> {
  const setting = admin?.settings('plugins.observability').find(each => each.key === key)
  return setting?.layer === 'default' ? { [key]: value } : {}
}

/** Resolves a database file relative to the current folder, not to the project. */
export function resolveDatabase(database: string): string {
  return database === 'memory' ? database : resolve(database)
}

export function reportServing(file: string, io: CommandIo): void {
  if (!io.json) io.stderr.write(`serving ${file} until Ctrl-C\n`)
}

async function isPortInUse(admin: KernelAdmin | undefined): Promise<boolean> {
  const settings = admin?.settings('plugins.http') ?? []
  const settingOf = (key: string): unknown => settings.find(each => each.key === `plugins.http.${key}`)?.value
  const [host, port] = [settingOf('host'), settingOf('port')]
  if (typeof host !== 'string' || typeof port !== 'number' || port === 0) return false
  return new Promise(settle => {
    const socket = connect({ host: host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port })
    socket.once('connect', () => {
      socket.destroy()
      settle(true)
    })
    socket.once('error', () => settle(false))
  })
}
