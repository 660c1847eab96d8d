import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type KernelAdmin, kernelAdmin } from '@svc/contracts'
import { type CommandHandler, type CommandIo, definePlugin, type Plugin } from '@svc/plugin-sdk'
import { fake, type LogLine, testKernel } from '@svc/plugin-sdk/testing'
import keyring from '@svc/plugin-secrets-keyring'
import vault from '@svc/plugin-secrets-local'
import type { Test } from 'tap'
import secrets from '#plugin'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface World {
  readonly root: string
  readonly home: string
  readonly log: readonly LogLine[]
  call(id: string, input?: object): Promise<any>
  /** Runs a command. `text`: standard input. */
  run(command: string, input?: object, text?: string, json?: boolean): Promise<Ran>
}

export interface WorldOptions {
  readonly settings?: Readonly<Record<string, unknown>>
  readonly vault?: object
  readonly plugins?: readonly Plugin[]
  /** Environment variables while the world is open. */
  readonly env?: Readonly<Record<string, string>>
  /** Home folder of an earlier world, to go on with its secrets. */
  readonly home?: string
  readonly without?: readonly ('vault' | 'keyring')[]
}

/** Opens the plugins with a home folder of the test. Several worlds must be opened one after another. */
export async function openWorld(t: Test, options: WorldOptions = {}): Promise<World> {
  const { settings = {}, plugins = [], env = {}, without = [] } = options
  const home = options.home ?? t.testdir()
  const before = { ...process.env }
  for (const name of Object.keys(process.env))
    if (/^(?:SVC|LEGACY|VOX|GH|GL|GIT\w*)_/.test(name)) delete process.env[name]
  Object.assign(process.env, env, { HOME: home })
  delete process.env.DBUS_SESSION_BUS_ADDRESS
  delete process.env.XDG_RUNTIME_DIR
  const admin = {
    plugins: () => [],
    permissions: () => ({ effective: null }),
    settings: (prefix = '') =>
      Object.entries(settings)
        .map(([name, value]) => ({ key: `plugins.secrets.${name}`, value, env: [], secret: false }))
        .filter(({ key }) => key.startsWith(prefix))
  } as unknown as KernelAdmin
  const commands = new Map<string, CommandHandler>()
  const watched = definePlugin({
    ...secrets,
    activate(ctx, deps) {
      const command: typeof ctx.command = (name, run) => {
        commands.set(name, run)
        ctx.command(name, run)
      }
      const get = (on: typeof ctx, key: string | symbol): unknown => {
        const value = key === 'command' ? command : Reflect.get(on, key, on)
        return typeof value === 'function' ? value.bind(on) : value
      }
      return secrets.activate(new Proxy(ctx, { get }), deps)
    }
  })
  const chosen = [
    ...(without.includes('keyring') ? [] : [keyring]),
    ...(without.includes('vault') || without.includes('keyring') ? [] : [vault]),
    ...[watched, ...plugins]
  ] as Plugin[]
  const kernel = await testKernel(chosen, {
    settings: {
      secrets: settings,
      ...(chosen.includes(vault as Plugin)
        ? { 'secrets-local': { path: join(home, 'vault.db'), ...options.vault } }
        : {}),
      ...(chosen.includes(keyring as Plugin) ? { 'secrets-keyring': { store: 'file' } } : {})
    },
    services: [fake(kernelAdmin, admin)]
  })
  t.teardown(async () => {
    await kernel.close()
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  })
  return {
    root: kernel.root,
    home,
    log: kernel.log,
    call: (id, input = {}) => kernel.callById(id, input) as Promise<any>,
    async run(command, input = {}, text = '', json = false) {
      const handler = commands.get(command)
      if (handler === undefined) throw new Error(`no command ${command}`)
      const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
      stdin.end(text)
      const out: string[] = []
      const err: string[] = []
      stdout.on('data', data => out.push(String(data)))
      stderr.on('data', data => err.push(String(data)))
      const io = { stdin, stdout, stderr, json, signal: new AbortController().signal } as unknown as CommandIo
      const code = await handler(input as Record<string, unknown>, io)
      await new Promise(resolve => setImmediate(resolve))
      return { code: typeof code === 'number' ? code : 0, stdout: out.join(''), stderr: err.join('') }
    }
  }
}
