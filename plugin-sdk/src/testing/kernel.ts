import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Hook } from '../hook.ts'
import type { CallerInputOf, Operation, OutputOf } from '../operation.ts'
import type { CallOptions, Plugin, PluginContext } from '../plugin.ts'
import type { Service, ServiceId } from '../service.ts'

/** Fake service, so that a plugin can be tested without the plugin that normally provides the service. */
export interface Fake<A = unknown> {
  readonly token: Service<A>
  readonly value: A
}

export function fake<A>(token: Service<A>, value: NoInfer<A>): Fake<A> {
  return { token, value }
}

/** Options of calls by a test, which is an external caller and has no parent call. */
export type TestCallOptions = Omit<CallOptions, 'parent'>

export interface TestOptions {
  /** Settings by plugin name. They are validated against the plugin's schema, and defaults are added. */
  readonly settings?: Readonly<Record<string, object>>
  readonly services?: readonly Fake<any>[]
  /** Package folders by plugin name; see {@link TestPluginOptions.packageRoot}. */
  readonly packageRoots?: Readonly<Record<string, string | URL>>
}

export interface EffectTree {
  readonly label: string
  readonly children: readonly EffectTree[]
}

export interface LogLine {
  readonly plugin: string | null
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Real kernel with plugins that the test defines. */
export interface TestKernel {
  /** Temporary project folder. {@link TestKernel.close} removes it. */
  readonly root: string
  readonly log: readonly LogLine[]
  call<Op extends Operation>(operation: Op, input: CallerInputOf<Op>, options?: TestCallOptions): Promise<OutputOf<Op>>
  callById(id: string, input: unknown, options?: TestCallOptions): Promise<unknown>
  trigger<A extends readonly unknown[], R>(hook: Hook<A, R>, ...args: NoInfer<A>): Promise<R | undefined>
  /** Returns the registrations of a plugin in its scope. */
  effects(name: string): EffectTree
  state(name: string): string
  /** Returns how often plugins announced a topic; see {@link PluginContext.changed}. */
  changes(topic: string): number
  /** Replaces the plugin of the same name without interruption, or adds the plugin. Throws if the change fails. */
  replace(plugin: Plugin): Promise<void>
  close(): Promise<void>
}

/** Part of `@svc/kernel/testing` that is used here. The kernel is an optional peer dependency of this package. */
interface KernelTesting {
  openTestKernel(options: {
    plugins: readonly Plugin[]
    settings?: Readonly<Record<string, object>>
    services?: ReadonlyMap<ServiceId, unknown>
    packageRoot?: (plugin: Plugin) => string | undefined
  }): Promise<{
    kernel: {
      invoke(id: string, input: unknown, call: object): Promise<unknown>
      readonly topics: { version(topic: string): number }
      records: ReadonlyMap<string, { state: string; unit: { scope: { tree(): EffectTree } } | null }>
    }
    root: string
    lines: readonly LogLine[]
    replace(plugin: Plugin): Promise<void>
    trigger(hook: { id: string }, ...args: readonly unknown[]): Promise<unknown>
    close(): Promise<void>
  }>
}

const TESTER = { id: 'test', role: 'admin', scopes: ['*'] }

/**
 * Activates plugins in the real kernel, without files, ports or configuration. Throws if there is a conflict, an
 * activation fails or settings are invalid.
 */
export async function testKernel(plugins: readonly Plugin[], options: TestOptions = {}): Promise<TestKernel> {
  const { openTestKernel } = await loadKernel()
  const services = new Map(options.services?.map(({ token, value }) => [token.id, value]))
  const handle = await openTestKernel({
    plugins,
    services,
    packageRoot: plugin => pathOf(options.packageRoots?.[plugin.name]) ?? packageRoots.get(plugin),
    ...(options.settings === undefined ? {} : { settings: options.settings })
  })
  const callById = (id: string, input: unknown, call: TestCallOptions = {}): Promise<unknown> =>
    handle.kernel.invoke(id, input, { surface: 'internal', principal: TESTER, ...call })
  return {
    root: handle.root,
    log: handle.lines,
    callById,
    call: (operation, input, call) => callById(operation.id, input, call) as Promise<never>,
    trigger: (hook, ...args) => handle.trigger(hook, ...args) as Promise<never>,
    effects: name => handle.kernel.records.get(name)?.unit?.scope.tree() ?? { label: name, children: [] },
    state: name => handle.kernel.records.get(name)?.state ?? 'unknown',
    changes: topic => handle.kernel.topics.version(topic),
    replace: plugin => handle.replace(plugin),
    close: () => handle.close()
  }
}

export interface TestPluginOptions {
  readonly settings?: object
  readonly services?: readonly Fake<any>[]
  /**
   * Folder that the plugin reads as `ctx.packageRoot`. Default: the package of a plugin from {@link loadPlugin}, else the
   * temporary project folder.
   */
  readonly packageRoot?: string | URL
}

/** Activates one plugin; see {@link testKernel}. */
export function testPlugin(plugin: Plugin, options: TestPluginOptions = {}): Promise<TestKernel> {
  return testKernel([plugin], {
    ...(options.settings === undefined ? {} : { settings: { [plugin.name]: options.settings } }),
    ...(options.packageRoot === undefined ? {} : { packageRoots: { [plugin.name]: options.packageRoot } }),
    ...(options.services === undefined ? {} : { services: options.services })
  })
}

/** Package folders of loaded plugins. */
const packageRoots = new WeakMap<Plugin, string>()

/** Loads the plugin from a built file, in any form of export. */
export function loadPlugin(file: string | URL): Plugin {
  const path = file instanceof URL ? fileURLToPath(file) : file
  const loaded = createRequire(import.meta.url)(path) as Record<string, unknown>
  const found = [loaded.default, loaded.plugin, loaded].find(each => (each as Plugin | undefined)?.kind === 'plugin')
  if (found === undefined) throw new Error(`${String(file)} exports no plugin: export default definePlugin({ … })`)
  const plugin = found as Plugin
  const root = packageOf(path)
  if (root !== undefined) packageRoots.set(plugin, root)
  return plugin
}

/** Returns the nearest folder with a package.json at or above a file. */
function packageOf(file: string): string | undefined {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder
    if (folder === dirname(folder)) return undefined
  }
}

function pathOf(folder: string | URL | undefined): string | undefined {
  if (folder === undefined) return undefined
  // A URL such as `new URL('..', import.meta.url)` ends with a slash.
  return resolve(folder instanceof URL ? fileURLToPath(folder) : folder)
}

async function loadKernel(): Promise<KernelTesting> {
  const specifier = '@svc/kernel/testing'
  try {
    return (await import(specifier)) as KernelTesting
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error('the testing kit needs @svc/kernel: npm install --save-dev @svc/kernel', { cause })
  }
}
