import { setImmediate as turn } from 'node:timers/promises'
import type { Invocation } from '@svc/contracts'
import type { Plugin } from '@svc/plugin-sdk'
import type { Test } from 'tap'
import type { UnitPolicy } from '../src/core/activate.ts'
import type { ChangeRequest } from '../src/core/change.ts'
import { Concealed } from '../src/core/concealed.ts'
import type { PluginConfiguration } from '../src/core/inventory.ts'
import { Kernel } from '../src/core/kernel.ts'
import { inlineSource, type PluginSource } from '../src/core/plugin-source.ts'
import type { KernelLogger } from '../src/host/log.ts'

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

export interface LogLine {
  readonly plugin: string | null
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** What the configuration says of a plugin here. */
export interface Said {
  readonly enabled?: boolean
  readonly error?: string
  readonly settings?: object
  readonly policy?: Partial<UnitPolicy>
  readonly secretBackends?: readonly string[]
  readonly fingerprint?: string
}

/** A kernel whose plugins and configuration are values of the test, as they would be read from disk. */
export class World {
  readonly kernel: Kernel
  readonly lines: LogLine[] = []
  readonly fatal: unknown[] = []
  #sources = new Map<string, PluginSource>()
  #said: Readonly<Record<string, Said>> = {}
  #revision = 0

  constructor(t: Test) {
    const root = t.testdir({})
    this.kernel = new Kernel({
      log: this.#log(),
      projectRoot: root,
      dataRoot: `${root}/.vox`,
      repositoryId: 'test',
      version: '0.0.0',
      onFatal: error => void this.fatal.push(error)
    })
    t.teardown(() => this.kernel.close())
  }

  /** Puts plugins there, each as new code; those that were there stay. */
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

  /** Replaces what the configuration says of the plugins named. */
  say(said: Readonly<Record<string, Said>>): this {
    this.#said = { ...this.#said, ...said }
    return this
  }

  /** Applies all of it, as the watcher would. */
  apply(more: ChangeRequest = {}): ReturnType<Kernel['change']> {
    const said = this.#said
    return this.kernel.change({
      sources: [...this.#sources.values()],
      configuration: name => configurationOf(name, said[name] ?? {}),
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

  #log(): KernelLogger {
    const at = (plugin: string | null) => {
      const write =
        (level: string) =>
        (message: string, fields: Record<string, unknown> = {}): void =>
          void this.lines.push({ plugin, level, message, fields })
      return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
    }
    return { ...at(null), forPlugin: at, setLevel: () => {}, flush: () => {}, concealed: new Concealed() }
  }
}

function configurationOf(name: string, said: Said): PluginConfiguration {
  const { enabled, error = null, settings = {}, policy, secretBackends = [], fingerprint = name } = said
  return {
    enabled,
    error,
    policy: { ...POLICY, ...policy },
    settings: async () => settings,
    secretBackends,
    fingerprint
  }
}

/** A promise and its ends. */
export function gate<A = void>() {
  let open: (value: A) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const passed = new Promise<A>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  return { open, fail, passed }
}
