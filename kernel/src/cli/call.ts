import { callDaemon, type Invocation, probeDaemon, readDaemonState } from '@svc/contracts'
import type { OperationDescriptor } from '@svc/plugin-sdk'
import type { Catalog } from '../catalog.ts'
import { kernelErrors } from '../errors.ts'
import type { Project, ProjectOptions } from '../project.ts'
import { closest } from '../suggest.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { interruptible } from './interrupt.ts'
import type { CliCommand, GlobalFlags } from './main.ts'
import { errorJson, renderError, renderResult } from './render.ts'

const LOCAL: Invocation['principal'] = { id: 'local', role: 'admin', scopes: ['*'] }

/** Runs a command that a plugin contributed: through the daemon when one runs, else in this process. */
export async function runCommand(
  catalog: Catalog,
  flags: GlobalFlags,
  command: CliCommand,
  input: Record<string, unknown>
): Promise<number> {
  if (command.kind === 'operation') return callDescriptor(catalog, flags, command.plugin, command.descriptor, input)
  const whole = command.descriptor.project === true
  const activate = whole ? withoutServers(catalog, command.plugin) : [command.plugin]
  return withProject(catalog, flags, { activate, ...(whole ? {} : NO_WATCH) }, async (project, signal) => {
    const entry = project.kernel.current.commands.get(command.descriptor.command)
    if (entry === undefined) throw inactive(project, command.plugin)
    const { stdin, stdout, stderr } = process
    return (await entry.run(input, { stdin, stdout, stderr, json: flags.json, signal })) ?? EXIT.ok
  })
}

/** `svc call ID JSON`. */
export async function callOperation(
  catalog: Catalog,
  flags: GlobalFlags,
  id: string,
  json: string | undefined
): Promise<number> {
  const owner = catalog.manifests.find(manifest => manifest.operations.some(each => each.id === id))
  const descriptor = owner?.operations.find(each => each.id === id)
  if (owner === undefined || descriptor === undefined) {
    const near = closest(
      id,
      catalog.manifests.flatMap(manifest => manifest.operations.map(each => each.id))
    )
    throw kernelErrors.create(
      'OPR_UNKNOWN',
      `no plugin offers the operation ${id}`,
      near === undefined ? {} : { hint: `did you mean ${near}?` }
    )
  }
  return callDescriptor(catalog, flags, owner.name, descriptor, await readJson(json))
}

/** `svc rpc METHOD JSON`: needs a running daemon. */
export async function callMethod(
  catalog: Catalog,
  flags: GlobalFlags,
  method: string,
  json: string | undefined
): Promise<number> {
  const state = await readDaemonState(catalog.projectRoot)
  if (state === null) {
    throw kernelErrors.create('KRN_CLOSED', `no daemon runs for ${catalog.projectRoot}`, {
      hint: 'start one: svc serve'
    })
  }
  const params = await readJson(json)
  return interruptible(async signal => {
    print(
      await callDaemon(state, method, params, { signal, ...listeners(flags), ...(await token(catalog)) }),
      flags,
      undefined
    )
    return EXIT.ok
  })
}

async function callDescriptor(
  catalog: Catalog,
  flags: GlobalFlags,
  plugin: string,
  descriptor: OperationDescriptor,
  input: unknown
): Promise<number> {
  const view = descriptor.expose.cli?.view
  const daemon = flags.inProcess || !descriptor.expose.rpc ? null : await readDaemonState(catalog.projectRoot)
  if (daemon !== null && (await probeDaemon(daemon, await token(catalog)))) {
    const method = typeof descriptor.expose.rpc === 'string' ? descriptor.expose.rpc : descriptor.id
    return interruptible(async signal => {
      const output = await callDaemon(daemon, method, input, { signal, ...listeners(flags), ...(await token(catalog)) })
      return print(output, flags, view)
    })
  }
  return withProject(catalog, flags, { activate: [plugin], ...NO_WATCH }, async (project, signal) => {
    if (!project.kernel.current.operations.has(descriptor.id)) throw inactive(project, plugin)
    const output = await project.kernel.invoke(descriptor.id, input, {
      surface: 'cli',
      principal: LOCAL,
      coerce: true,
      signal,
      ...listeners(flags)
    })
    return print(output, flags, view)
  })
}

/** What a command may use that needs the whole project, while another process may hold its ports. */
function withoutServers(catalog: Catalog, owner: string): string[] {
  return catalog.manifests.filter(each => each.serves !== true || each.name === owner).map(each => each.name)
}

/** Files may change under a command that ends before anybody could notice. */
const NO_WATCH = { watch: false } as const

/** Opens the project with no more than some plugins and what they need. */
async function withProject(
  catalog: Catalog,
  flags: GlobalFlags,
  options: Pick<ProjectOptions, 'activate' | 'watch'>,
  use: (project: Project, signal: AbortSignal) => Promise<number>
): Promise<number> {
  const { openProject } = await import('../project.ts')
  return interruptible(async signal => {
    const project = await openProject({ catalog, logLevel: flags.logLevel ?? 'warn', ...options })
    try {
      return await use(project, signal)
    } finally {
      await project.close()
    }
  })
}

function inactive(project: Project, plugin: string): Error {
  const why = project.admin.why(plugin).join('; ')
  return kernelErrors.create('OPR_UNAVAILABLE', `plugin ${plugin} is not active: ${why}`, {
    plugin,
    hint: `svc plugins why ${plugin}`
  })
}

/** A failed health verdict is a result, and still an exit code that scripts can test. */
function print(output: unknown, flags: GlobalFlags, view: Parameters<typeof renderResult>[1]): number {
  process.stdout.write(`${flags.json ? JSON.stringify(output) : renderResult(output, view, process.stdout.columns)}\n`)
  const { healthy, valid } = (output ?? {}) as { healthy?: unknown; valid?: unknown }
  return healthy === false || valid === false ? EXIT.failure : EXIT.ok
}

function listeners(flags: GlobalFlags): Pick<Invocation, 'onEvent' | 'onProgress'> {
  const line = (kind: string, value: unknown): void => {
    process.stdout.write(`${JSON.stringify({ [kind]: value })}\n`)
  }
  if (flags.json) {
    return {
      onEvent: event => line('event', event),
      onProgress: (done, total, message) => line('progress', { done, total, message })
    }
  }
  return {
    onEvent: event => void process.stdout.write(typeof event === 'string' ? event : `${JSON.stringify(event)}\n`),
    onProgress: (done, total, message) =>
      void process.stderr.write(`${message ?? 'progress'} ${done}${total === undefined ? '' : `/${total}`}\n`)
  }
}

/** What the daemon may demand, as the configuration writes it; a secret reference is for the daemon's own process. */
async function token(catalog: Catalog): Promise<{ token?: string }> {
  const { resolveConfig } = await import('../config/resolve.ts')
  const told = resolveConfig(catalog.sources, catalog.manifests).plugins.get('daemon')?.values.token
  return typeof told === 'string' ? { token: told } : {}
}

async function readJson(text: string | undefined): Promise<unknown> {
  if (text === undefined) return {}
  const source = text === '-' ? await readStdin() : text
  try {
    return JSON.parse(source)
  } catch (cause) {
    throw kernelErrors.create('OPR_INPUT_INVALID', `the input is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: `quote it for the shell: '{"name": "value"}'`
    })
  }
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** For commands that print their own errors. */
export function reportFailure(error: unknown, json: boolean): number {
  process.stderr.write(json ? `${JSON.stringify(errorJson(error))}\n` : `${renderError(error)}\n`)
  return exitCodeOf(error)
}
