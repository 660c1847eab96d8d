import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  inlineSource,
  Kernel,
  type KernelLogger,
  MaskedSecrets,
  type PluginConfiguration,
  type PluginSource,
  type UnitPolicy
} from '@svc/kernel/testing'
import {
  type CallerInputOf,
  type CallOptions,
  describePlugin,
  type Operation,
  type OutputOf,
  type Permissions,
  type Plugin
} from '@svc/plugin-sdk'
import { build } from 'esbuild'
import type { Test } from 'tap'
import { isolationHosts } from '#isolation'
import creature from './fixtures/creature.ts'

export type Kind = 'worker' | 'process'
export const KINDS: readonly Kind[] = ['worker', 'process']

export interface WorldOptions {
  readonly settings?: Readonly<Record<string, unknown>>
  readonly policy?: Partial<UnitPolicy>
  /** Permissions that `svc.toml` grants. */
  readonly permissions?: Permissions
  /** In-process plugins, in addition to the isolated one. */
  readonly others?: readonly Plugin[]
  readonly mayFail?: boolean
  /** Plugin to describe instead of the creature. */
  readonly plugin?: Plugin
}

export interface LogLine {
  readonly plugin: string | null
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Kernel with the isolated creature plugin, in a temporary project folder. */
export class World {
  readonly kernel: Kernel
  readonly root: string
  readonly lines: LogLine[] = []
  readonly states: string[] = []
  settings: Record<string, unknown>
  #source: PluginSource
  readonly #kind: Kind
  readonly #options: WorldOptions
  #watchers: (() => void)[] = []

  static async open(t: Test, kind: Kind, options: WorldOptions = {}): Promise<World> {
    const root = t.testdir({ shown: { 'a.txt': 'shown' }, hidden: { 'a.txt': 'hidden' }, written: {} })
    const world = new World(root, kind, options, await bundled(root, options.plugin ?? creature))
    // Keeps the process alive: a kernel that only waits for a retry does not.
    const alive = setInterval(() => {}, 60_000)
    t.teardown(() => {
      clearInterval(alive)
      return world.kernel.close()
    })
    await world.change()
    if (world.state === 'failed' && options.mayFail !== true)
      t.fail('the creature does not run', { lines: world.lines })
    return world
  }

  constructor(root: string, kind: Kind, options: WorldOptions, source: PluginSource) {
    this.root = root
    this.#kind = kind
    this.#options = options
    this.#source = source
    this.settings = { mood: 'calm', activate: 'fine', dispose: 'fine', ...options.settings }
    this.kernel = new Kernel({
      unitHosts: isolationHosts,
      log: this.#log(),
      projectRoot: root,
      dataRoot: join(root, '.vox'),
      repositoryId: 'test',
      version: '0.0.0',
      onState: (plugin, state) => {
        if (plugin === 'creature') this.states.push(state)
        for (const look of this.#watchers) look()
      }
    })
  }

  /** Applies the current settings. */
  async change(forced: readonly string[] = []): Promise<void> {
    const others = (this.#options.others ?? []).map(plugin => inlineSource(plugin))
    await this.kernel.change({
      sources: [...others, this.#source],
      configuration: name => this.#configuration(name),
      forced
    })
  }

  call<Op extends Operation>(
    operation: Op,
    input: CallerInputOf<Op>,
    options: CallOptions = {}
  ): Promise<OutputOf<Op>> {
    const principal = { id: 'tester', role: 'local', scopes: ['*'] }
    return this.kernel.invoke(operation.id, input, { surface: 'internal', principal, ...options }) as Promise<never>
  }

  /** Resolves once a condition holds. Checked after each state change and log line. */
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return
    await new Promise<void>(resolve => {
      const look = (): void => {
        if (!condition()) return
        this.#watchers = this.#watchers.filter(each => each !== look)
        resolve()
      }
      this.#watchers.push(look)
    })
  }

  async untilLogged(pattern: RegExp): Promise<LogLine> {
    const find = (): LogLine | undefined => this.lines.find(line => pattern.test(line.message))
    await this.until(() => find() !== undefined)
    return find()!
  }

  /** Resolves when an instance other than `after` serves. */
  async returned(after: string): Promise<void> {
    const serving = (): boolean => {
      const unit = this.kernel.current.units.get('creature')
      return unit !== undefined && unit.instance !== after && unit.state === 'active'
    }
    await this.until(serving)
  }

  get instance(): string {
    return this.kernel.current.units.get('creature')!.instance
  }

  get state(): string | undefined {
    return this.kernel.records.get('creature')?.state
  }

  #configuration(name: string): PluginConfiguration {
    const isolated = name === this.#source.name
    return {
      enabled: true,
      error: null,
      policy: {
        isolation: isolated ? this.#kind : 'in-process',
        onBootFailure: 'retry',
        uncaught: 'degrade',
        activateTimeoutMs: 10_000,
        drainTimeoutMs: 5_000,
        breaker: { failures: 5, windowMs: 30_000, halfOpenMs: 10_000 },
        memoryMb: 64,
        permissions: isolated ? (this.#options.permissions ?? null) : null,
        ...(isolated ? this.#options.policy : {})
      },
      settings: async () => (isolated ? { ...this.settings } : {}),
      secretBackends: [],
      fingerprint: isolated ? `${this.settings.activate} ${this.settings.dispose}` : ''
    }
  }

  #log(): KernelLogger {
    const at = (plugin: string | null) => {
      const write =
        (level: string) =>
        (message: string, fields: Record<string, unknown> = {}): void => {
          this.lines.push({ plugin, level, message, fields })
          for (const look of this.#watchers) look()
        }
      return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
    }
    return { ...at(null), forPlugin: at, setLevel: () => {}, flush: () => {}, secrets: new MaskedSecrets() }
  }
}

/** Writes a plugin as a package on disk and returns its source. */
async function bundled(root: string, plugin: Plugin): Promise<PluginSource> {
  const location = join(root, 'package')
  const bundle = join(location, 'dist', 'plugin.cjs')
  mkdirSync(location, { recursive: true })
  await build({
    entryPoints: [join(import.meta.dirname, 'fixtures', 'creature.ts')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    packages: 'external'
  })
  const manifest = describePlugin(plugin, '1.0.0')
  const instantiate = (): never => {
    throw new Error('code of an isolated plugin ran in the host')
  }
  return {
    name: plugin.name,
    location,
    version: '1.0.0',
    manifest,
    problem: null,
    lapsed: null,
    prepare: async () => ({ manifest, fingerprint: '1', inputs: [], bundle: Promise.resolve(bundle), instantiate }),
    close: async () => {}
  }
}
