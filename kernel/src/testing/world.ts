import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Invocation } from '@svc/contracts'
import type { Plugin } from '@svc/plugin-sdk'
import type { UnitPolicy } from '../core/activate.ts'
import type { ChangeRequest } from '../core/change.ts'
import type { PluginConfiguration } from '../core/inventory.ts'
import { Kernel, type KernelOptions } from '../core/kernel.ts'
import type { PluginSource } from '../core/plugin-source.ts'
import { inlineSource } from '../host/inline-source.ts'
import { isolationHosts } from '../isolation/unit-host.ts'
import { type LogLine, memoryLog } from './memory-log.ts'

export const POLICY: UnitPolicy = {
  isolation: 'in-process',
  onBootFailure: 'continue',
  uncaught: 'degrade',
  activateTimeoutMs: 5_000,
  drainTimeoutMs: 2_000,
  breaker: { failures: 5, windowMs: 30_000, halfOpenMs: 10_000 },
  memoryMb: null,
  permissions: null
}

/** Part of a test, of node-tap or another runner, that a {@link World} uses. */
export interface TestScope {
  teardown(run: () => unknown): void
}

/** Configuration of one plugin. */
export interface TestConfiguration {
  readonly enabled?: boolean
  readonly error?: string
  readonly settings?: object
  readonly policy?: Partial<UnitPolicy>
  readonly secretBackends?: readonly string[]
  readonly fingerprint?: string
}

/** Kernel with plugins and configuration that the test defines. Closes at the end of the test. */
export class World {
  readonly kernel: Kernel
  readonly lines: LogLine[] = []
  readonly fatal: unknown[] = []
  #sources = new Map<string, PluginSource>()
  #configurations: Readonly<Record<string, TestConfiguration>> = {}
  #revision = 0

  constructor(t: TestScope, options: Pick<KernelOptions, 'tapTimeoutMs'> = {}) {
    const root = mkdtempSync(join(tmpdir(), 'svc-world-'))
    this.kernel = new Kernel({
      unitHosts: isolationHosts,
      log: memoryLog(this.lines),
      projectRoot: root,
      dataRoot: join(root, '.vox'),
      repositoryId: 'test',
      version: '0.0.0',
      ...options,
      onFatal: error => void this.fatal.push(error)
    })
    t.teardown(async () => {
      await this.kernel.close()
      rmSync(root, { recursive: true, force: true })
    })
  }

  /** Adds plugins, or replaces those of the same name. `apply` makes it effective. */
  put(...plugins: readonly Plugin[]): this {
    for (const plugin of plugins) {
      this.#revision += 1
      this.#sources.set(plugin.name, inlineSource(plugin, `0.0.${this.#revision}`))
    }
    return this
  }

  putSource(source: PluginSource): this {
    this.#sources.set(source.name, source)
    return this
  }

  remove(...names: readonly string[]): this {
    for (const name of names) this.#sources.delete(name)
    return this
  }

  /** Sets the configuration of some plugins. */
  configure(configurations: Readonly<Record<string, TestConfiguration>>): this {
    this.#configurations = { ...this.#configurations, ...configurations }
    return this
  }

  /** Applies plugins and configuration as one change, as the watcher does. */
  apply(more: ChangeRequest = {}): ReturnType<Kernel['change']> {
    const configurations = this.#configurations
    return this.kernel.change({
      sources: [...this.#sources.values()],
      configuration: name => configurationOf(name, configurations[name] ?? {}),
      ...more
    })
  }

  call(operation: string, input: unknown = {}, call: Partial<Invocation> = {}): Promise<unknown> {
    const principal = { id: 'tester', role: 'local', scopes: ['*'] }
    return this.kernel.invoke(operation, input, { surface: 'http', principal, ...call })
  }

  state(name: string): string | undefined {
    return this.kernel.records.get(name)?.state
  }

  why(name: string): string | null | undefined {
    return this.kernel.records.get(name)?.why
  }

  /** Resolves once a condition holds. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await turn()
  }
}

function configurationOf(name: string, configuration: TestConfiguration): PluginConfiguration {
  const { enabled, error = null, settings = {}, policy, secretBackends = [], fingerprint = name } = configuration
  return {
    enabled,
    error,
    policy: { ...POLICY, ...policy },
    settings: async () => settings,
    secretBackends,
    fingerprint
  }
}

/** Creates a promise with the functions that settle it. */
export function gate<A = void>() {
  let open: (value: A) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const passed = new Promise<A>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  return { open, fail, passed }
}
