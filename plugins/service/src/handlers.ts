import { join } from 'node:path'
import { type CommandIo, defined } from '@svc/plugin-sdk'
import { accountOf } from './account.ts'
import { DEFAULT_MEMORY } from './commands.ts'
import { serviceErrors } from './errors.ts'
import { giveState, makeFolders, readOwn, removeFile, replaceFile } from './files.ts'
import { launchd } from './launchd.ts'
import type { InstallOptions, ServiceOptions } from './options.ts'
import type { ServiceManager, ServiceSpec } from './service.ts'
import type { System } from './system.ts'
import { systemd } from './systemd.ts'

export interface Services {
  readonly system: System
  readonly project: string
  /** Paths of the Node.js binary and of svc's program. */
  readonly node: string
  readonly program: string
}

type Output = Pick<CommandIo, 'stdout' | 'json'>

/** Installs or replaces the service. With `dry_run`, prints its file. */
export async function install(services: Services, input: InstallOptions, io: Output): Promise<number> {
  const { system, project } = services
  const manager = managerOf(system, input)
  const { user, name, profile, dry_run, start } = input
  if (manager.kind === 'launchd') refuseSystemdOptions(input)
  if (user && input.run_as !== undefined) {
    throw serviceErrors.create('SRV_OPTIONS', '--run-as: a service of a user runs as that user; leave out one of both')
  }
  const runAs = user ? undefined : await accountOf(system, project, input.run_as)
  const spec: ServiceSpec = defined({
    ...{ name, user, project, profile, runAs },
    node: services.node,
    program: services.program,
    credentials: input.credential,
    memoryMax: input.memory_max,
    gpu: input.gpu
  })
  const text = manager.render(spec)
  const { kind, file } = manager
  if (dry_run) {
    io.stdout.write(io.json ? `${JSON.stringify({ manager: kind, file, text })}\n` : text)
    return 0
  }
  requireRights(system, user)
  const before = readOwn(file)
  if (runAs !== undefined) {
    const { home } = runAs
    makeFolders([join(home, '.vox'), join(home, '.local', 'share', 'svc'), join(home, '.cache')], runAs)
    giveState(project, runAs)
  }
  if (kind === 'launchd') makeFolders([join(project, '.vox', 'logs')], runAs ?? { uid: -1, gid: -1 })
  replaceFile(file, text)
  try {
    await manager.enable(start)
  } catch (error) {
    if (before === null) removeFile(file)
    else replaceFile(file, before)
    throw error
  }
  const status = before === null ? 'installed' : 'replaced'
  if (io.json) io.stdout.write(`${JSON.stringify({ status, manager: kind, file, started: start })}\n`)
  else
    io.stdout.write(
      [
        `${status} ${file}`,
        start ? `${name} runs, and starts with the machine` : `${name} starts with the machine`,
        ...manager.hints({ user, name }).map(([purpose, command]) => `${purpose}: ${command}`),
        ''
      ].join('\n')
    )
  return 0
}

/** Stops the service and removes its file. Its project and data stay. */
export async function uninstall(services: Services, input: ServiceOptions, io: Output): Promise<number> {
  const { system } = services
  const manager = managerOf(system, input)
  const { file } = manager
  requireRights(system, input.user)
  if (readOwn(file) === null) throw notInstalled(input.name, file)
  await manager.disable()
  removeFile(file)
  await manager.forget()
  const { project } = services
  io.stdout.write(
    io.json
      ? `${JSON.stringify({ status: 'uninstalled', file })}\n`
      : `stopped ${input.name} and removed ${file}; ${project} is unchanged\n`
  )
  return 0
}

/** Shows the service. The exit code is 0 while it runs, else 1. */
export async function status(services: Services, input: ServiceOptions, io: Output): Promise<number> {
  const manager = managerOf(services.system, input)
  const { kind, file } = manager
  if (readOwn(file) === null) throw notInstalled(input.name, file)
  const { state, enabled, pid, restarts, memoryBytes } = await manager.state()
  if (io.json) {
    io.stdout.write(
      `${JSON.stringify({ manager: kind, file, state, enabled, pid, restarts, memory_bytes: memoryBytes })}\n`
    )
  } else {
    const facts = [
      `${input.name}: ${state}`,
      pid === null ? [] : `process ${pid}`,
      memoryBytes === null ? [] : `${Math.round(memoryBytes / 1_048_576)} MiB`,
      restarts ? `${restarts} restarts` : [],
      enabled ? [] : 'does not start with the machine'
    ].flat()
    const hints = manager.hints(input).map(([purpose, command]) => `${purpose}: ${command}`)
    io.stdout.write(`${[facts.join(', '), file, ...hints].join('\n')}\n`)
  }
  return state === 'active' ? 0 : 1
}

function managerOf(system: System, { name, user }: ServiceOptions): ServiceManager {
  if (system.platform === 'linux') return systemd(system, name, user)
  if (system.platform === 'darwin') return launchd(system, name, user)
  throw serviceErrors.create('SRV_UNSUPPORTED', `svc service: ${system.platform} has neither systemd nor launchd`, {
    hint: 'let the service manager of this system run: svc serve'
  })
}

function refuseSystemdOptions({ credential, memory_max, gpu }: InstallOptions): void {
  const given = [
    credential.length > 0 && '--credential',
    memory_max !== DEFAULT_MEMORY && '--memory-max',
    gpu && '--gpu'
  ]
  const names = given.filter(each => each !== false)
  if (names.length === 0) return
  throw serviceErrors.create('SRV_OPTIONS', `${names.join(', ')}: launchd has nothing like it; leave it out`)
}

function requireRights({ uid }: System, user: boolean): void {
  if (user || uid === 0) return
  throw serviceErrors.create('SRV_PERMISSION', 'svc service: only root can change a service of the system', {
    hint: 'use sudo, or add --user for a service without root'
  })
}

function notInstalled(name: string, file: string): Error {
  return serviceErrors.create('SRV_NOT_INSTALLED', `${name}: there is no file ${file}`, {
    hint: 'install it with svc service install; --name and --user must be those of the installation'
  })
}
