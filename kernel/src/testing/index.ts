import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined, type Hook, type Plugin, type ServiceId } from '@svc/plugin-sdk'
import { describeErrors, renderProblems, Validator } from '@svc/plugin-sdk/check'
import { kernelErrors } from '../core/errors.ts'
import type { PluginConfiguration } from '../core/inventory.ts'
import { Kernel } from '../core/kernel.ts'
import type { KernelLogger } from '../core/logger.ts'
import type { PluginSource } from '../core/plugin-source.ts'
import { inlineSource } from '../host/inline-source.ts'
import { isolationHosts } from '../isolation/unit-host.ts'
import { type LogLine, memoryLog } from './memory-log.ts'

export type { UnitPolicy } from '../core/activate.ts'
export type { ChangeRequest } from '../core/change.ts'
export type { Generation } from '../core/generation.ts'
export type { Graph } from '../core/graph.ts'
export type { KernelLogger } from '../core/logger.ts'
export type { InstanceHooks, PluginSource, PreparedCode } from '../core/plugin-source.ts'
export { inlineSource } from '../host/inline-source.ts'
export { createLogger } from '../host/log.ts'
export { MaskedSecrets } from '../host/masked-secrets.ts'
export { type Files, temporaryFolder, writeFiles } from './files.ts'
export { type InProcessProject, type InProcessProjectOptions, openInProcess } from './in-process-project.ts'
export { loadTestPlugin, type TestPlugin } from './plugin.ts'
export { openTestProject, type TestProject } from './project.ts'
export { gate, POLICY, type TestConfiguration, type TestScope, World } from './world.ts'
export { Kernel, type LogLine, memoryLog, type PluginConfiguration }

export interface TestKernelOptions {
  readonly plugins: readonly Plugin[]
  /** Settings by plugin name. They are validated, and defaults are added. */
  readonly settings?: Readonly<Record<string, object>>
  /** Services that no plugin of the test provides. */
  readonly services?: ReadonlyMap<ServiceId, unknown>
  /** Default: a log in memory, which `lines` returns. */
  readonly log?: KernelLogger
  /** Returns the package folder of a plugin. Default, and if undefined: the temporary folder. */
  readonly packageRoot?: (plugin: Plugin) => string | undefined
}

/**
 * Opens a kernel with plugins that the test defines, a temporary folder and a log in memory. Basis of
 * `@svc/plugin-sdk/testing`. It runs the same code as `svc serve`.
 */
export async function openTestKernel(options: TestKernelOptions): Promise<TestKernelHandle> {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-'))
  const lines: LogLine[] = []
  const kernel = new Kernel({
    unitHosts: isolationHosts,
    log: options.log ?? memoryLog(lines),
    projectRoot: root,
    dataRoot: join(root, '.vox'),
    repositoryId: 'test',
    version: '0.0.0',
    ...defined({ services: options.services })
  })
  const sourceOf = (plugin: Plugin, version: string): PluginSource =>
    inlineSource(plugin, version, options.packageRoot?.(plugin) ?? root)
  const sources = new Map(options.plugins.map(plugin => [plugin.name, sourceOf(plugin, '0.0.0')]))
  const configuration = configure(options)
  try {
    await kernel.change({ sources: [...sources.values()], configuration, mustSucceed: [...sources.keys()] })
  } catch (error) {
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
    throw error
  }
  let revision = 0
  return {
    kernel,
    root,
    lines,
    async replace(plugin) {
      revision += 1
      sources.set(plugin.name, sourceOf(plugin, `0.0.${revision}`))
      await kernel.change({ sources: [...sources.values()], mustSucceed: [plugin.name] })
    },
    trigger: async (hook, ...args) => kernel.current.hooks.trigger(hook.id, args),
    async close() {
      await kernel.close()
      rmSync(root, { recursive: true, force: true })
    }
  }
}

export interface TestKernelHandle {
  readonly kernel: Kernel
  readonly root: string
  readonly lines: readonly LogLine[]
  /** Replaces the plugin of the same name, or adds the plugin. */
  replace(plugin: Plugin): Promise<void>
  trigger(hook: Hook<never[], unknown>, ...args: unknown[]): Promise<unknown>
  close(): Promise<void>
}

function configure(options: TestKernelOptions): (name: string) => PluginConfiguration {
  const plugins = new Map(options.plugins.map(plugin => [plugin.name, plugin]))
  return name => {
    const schema = plugins.get(name)?.config
    const settings = structuredClone(options.settings?.[name] ?? {})
    return {
      enabled: true,
      error: null,
      policy: {
        isolation: 'in-process',
        onBootFailure: 'continue',
        uncaught: 'degrade',
        activateTimeoutMs: 10_000,
        drainTimeoutMs: 5_000,
        breaker: { failures: 5, windowMs: 30_000, halfOpenMs: 10_000 },
        memoryMb: null,
        permissions: null
      },
      settings: async () => {
        if (schema === undefined) return settings
        const validate = new Validator().compile(inlineSource(plugins.get(name) as Plugin).manifest?.config ?? {})
        if (validate(settings)) return settings
        throw kernelErrors.create(
          'KRN_ACTIVATE_FAILED',
          `settings of ${name}: ${renderProblems(describeErrors(validate.errors))}`,
          { plugin: name }
        )
      },
      secretBackends: [],
      fingerprint: ''
    }
  }
}
