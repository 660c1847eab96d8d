import type { KernelAdmin, KernelChange, PluginReport } from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'

export function pluginReport(name: string, change: Partial<PluginReport> = {}): PluginReport {
  return {
    name,
    version: '1.0.0',
    summary: '',
    state: 'active',
    generation: 1,
    isolation: 'in-process',
    operations: 1,
    hooks: 0,
    inFlight: 0,
    calls: 0,
    failures: 0,
    activateMs: 2,
    why: null,
    hint: null,
    refused: false,
    location: `/plugins/${name}`,
    ...change
  }
}

export interface FakeAdmin extends KernelAdmin {
  /** Changes that were requested with `apply`. */
  readonly changes: { readonly change: KernelChange; readonly dryRun: boolean }[]
}

const absent = (): never => {
  throw new SvcError('CFG_WRITE_REFUSED', 'the fake has no configuration file', { status: 409 })
}

/** Creates a fake admin service for the given plugin reports. */
export function fakeAdmin(plugins: readonly PluginReport[], change: Partial<KernelAdmin> = {}): FakeAdmin {
  const changes: FakeAdmin['changes'][number][] = []
  const expect = (name: string): void => {
    if (!plugins.some(plugin => plugin.name === name))
      throw new SvcError('KRN_PLUGIN_UNKNOWN', `no plugin named ${name}`, { status: 404 })
  }
  return {
    serves: true,
    isServer: true,
    changes,
    plugins: () => plugins,
    manifest: () => undefined,
    isBundled: () => true,
    graph: () => [{ from: 'a', token: 'demo.clock@1', to: 'b', kind: 'requires' }],
    why: subject => [`${subject} is active`],
    hooks: () => [],
    effects: name => {
      expect(name)
      return { label: name, children: [{ label: 'operations', children: [] }] }
    },
    top: async () => [{ plugin: 'a', cpuMs: 1.5, share: 0.1, calls: 3 }],
    health: async () => [],
    findings: () => [],
    report: () => {},
    apply: async (wanted, { dryRun = false } = {}) => {
      for (const name of [...(wanted.enable ?? []), ...(wanted.disable ?? []), ...(wanted.reload ?? [])]) expect(name)
      changes.push({ change: wanted, dryRun })
      const steps = (wanted.reload ?? []).map(name => `replace ${name}: requested`)
      return { applied: !dryRun, generation: 2, add: [], replace: wanted.reload ?? [], remove: [], keep: [], steps }
    },
    build: async directory => ({ name: 'built', version: '1.0.0', files: [`${directory}/dist/plugin.cjs`] }),
    settings: () => [],
    explain: key => {
      throw new SvcError('CFG_SETTING_UNKNOWN', `there is no setting "${key}"`, { status: 404 })
    },
    validate: async () => [],
    configSchema: () => ({ type: 'object' }),
    configuration: { read: absent, preview: absent, write: absent, history: () => [] },
    secrets: async () => ({ secrets: [], files: [] }),
    generations: () => [],
    conflicts: () => ({ keys: [], names: [] }),
    permissions: plugin => {
      expect(plugin)
      return { plugin, isolation: 'in-process', requested: {}, granted: null, effective: null }
    },
    stop: () => {},
    ...change
  }
}
