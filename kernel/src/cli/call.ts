import { type Invocation, reservedStdout } from '@svc/contracts'
import {
  type CliView,
  type CommandIo,
  closest,
  defined,
  isSvcError,
  type OperationDescriptor,
  type PluginManifest,
  rpcMethodNames,
  type ServeInstead,
  SvcError
} from '@svc/plugin-sdk'
import { kernelErrors } from '../core/errors.ts'
import type { Project } from '../host/project/project.ts'
import type { CommandSession } from './commands.ts'
import { findDaemon } from './daemon.ts'
import { EXIT } from './exit-codes.ts'
import { fillInput } from './fill-input.ts'
import type { GlobalFlags } from './flags.ts'
import { interruptible } from './interrupt.ts'
import { readJson } from './json-input.ts'
import { withoutServers, withProject } from './one-shot.ts'
import { Output } from './output.ts'

const LOCAL: Invocation['principal'] = { id: 'local', role: 'admin', scopes: ['*'] }

/** Runs an operation through the daemon if one runs, else in this process with only its plugin and requirements. */
export async function runOperation(
  session: CommandSession,
  plugin: string,
  descriptor: OperationDescriptor,
  input: unknown,
  view: CliView | undefined
): Promise<number> {
  const output = new Output(session.flags.json, view)
  const [method] = rpcMethodNames(descriptor)
  const daemon = method === undefined ? null : await findDaemon(session)
  if (method !== undefined && daemon !== null) {
    return interruptible(async signal => {
      const params = await fillInput(session, descriptor, input)
      const result = await daemon.call(method, params, signal, output).catch(error => {
        throw isSvcError(error, 'DMN_METHOD_UNKNOWN') ? notOffered(error, method, plugin) : error
      })
      return output.finish(result)
    })
  }
  return interruptible(signal =>
    withProject(session, { activate: [plugin] }, async project => {
      if (!project.kernel.current.operations.has(descriptor.id)) throw inactive(project, plugin)
      const { onEvent, onProgress } = output
      const call: Invocation = { surface: 'cli', principal: LOCAL, coerce: true, signal, onEvent, onProgress }
      return output.finish(await project.kernel.invoke(descriptor.id, input, call))
    })
  )
}

/** Runs a plugin's command that is not an operation. Always in this process. */
export async function runPluginCommand(
  session: CommandSession,
  plugin: string,
  descriptor: PluginManifest['commands'][number],
  input: Readonly<Record<string, unknown>>
): Promise<number> {
  const whole = descriptor.project === true
  // Plugins may print during activation, before the command uses standard output for its protocol.
  const stdout = whole || session.flags.json ? reservedStdout() : process.stdout
  const options = defined({
    activate: whole ? withoutServers(session.catalog, plugin) : [plugin],
    lasting: whole,
    tolerant: descriptor.tolerant
  })
  let instead: ServeInstead | undefined
  const code = await interruptible(signal =>
    withProject(session, options, async project => {
      const entry = project.kernel.current.commands.get(descriptor.command)
      if (entry === undefined) throw inactive(project, plugin)
      const { stdin, stderr } = process
      const { detach } = await import('./detach.ts')
      const io: CommandIo = {
        ...{ stdin, stdout, stderr, json: session.flags.json, signal },
        detach: (words, output) => detach(session, words, output)
      }
      const result = await entry.run(input, io)
      if (typeof result !== 'object') return result ?? EXIT.ok
      instead = result
      return EXIT.ok
    })
  )
  return instead === undefined || code !== EXIT.ok ? code : serveInstead(session.flags, instead)
}

async function serveInstead(flags: GlobalFlags, { only, set, watch, onServing }: ServeInstead): Promise<number> {
  const { serve } = await import('./serve.ts')
  const overrides = Object.entries(set).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  const input = defined({ only: only.length === 0 ? undefined : only.join(','), watch })
  return serve({ ...flags, set: [...flags.set, ...overrides] }, input, onServing)
}

/** Runs `svc call ID JSON`. Throws `OPR_UNKNOWN`. */
export async function callById(session: CommandSession, id: string, json: string | undefined): Promise<number> {
  const manifests = [...session.catalog.manifests, ...session.catalog.lapsed]
  const owner = manifests.find(manifest => manifest.operations.some(each => each.id === id))
  const descriptor = owner?.operations.find(each => each.id === id)
  if (owner === undefined || descriptor === undefined) {
    const ids = manifests.flatMap(manifest => manifest.operations.map(each => each.id))
    const near = closest(id, ids)
    throw kernelErrors.create('OPR_UNKNOWN', `no plugin offers the operation ${id}`, {
      hint: near === undefined ? 'svc plugins list shows the known plugins' : `did you mean ${near}?`
    })
  }
  return runOperation(session, owner.name, descriptor, await readJson(json), descriptor.expose.cli?.view)
}

/** Returns the error for a method that a manifest declares and the daemon does not offer: its plugin is not active. */
function notOffered({ code, status }: SvcError, method: string, plugin: string): Error {
  const message = `the daemon does not offer ${method}: its plugin ${plugin} is not active in the daemon`
  return new SvcError(code, message, { status, plugin, hint: `svc plugins why ${plugin}` })
}

function inactive(project: Project, plugin: string): Error {
  const why = project.admin.why(plugin).join('\n  ')
  return kernelErrors.create('OPR_UNAVAILABLE', `plugin ${plugin} is not active: ${why}`, {
    plugin,
    hint: `svc plugins why ${plugin}`
  })
}
