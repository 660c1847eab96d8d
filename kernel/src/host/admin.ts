import {
  adminErrors,
  type BuildReport,
  type ChangeReport,
  type ConfigEditor,
  type ConfigProblem,
  type CpuShare,
  type EffectNode,
  type Finding,
  type GenerationReport,
  type GraphEdge,
  type HealthReport,
  type HookReport,
  type KernelAdmin,
  type KernelChange,
  kernelHooks,
  type PermissionReport,
  type PluginReport,
  type SettingExplanation,
  type SettingReport
} from '@svc/contracts'
import {
  closest,
  type DeclaredHook,
  errorMessage,
  type Health,
  hookKind,
  type PluginManifest,
  settlesWithin
} from '@svc/plugin-sdk'
import type { Kernel } from '../core/kernel.ts'
import type { PluginRecord } from '../core/record.ts'
import type { HealthCheck } from '../core/unit.ts'
import type { PluginCatalog } from './catalog.ts'
import { conflictsOf } from './conflicts.ts'
import type { ResolvedConfig } from './plugin-config.ts'
import { sampleCpu } from './profile.ts'
import { secretsReport } from './secret-report.ts'

/** Functions of the project that the admin service uses. */
export interface AdminHost {
  kernel(): Kernel
  readonly serves: boolean
  readonly isServer: boolean
  /** Configuration in force. */
  config(): ResolvedConfig
  /** Configuration as it was last read. Invalid settings of it are not in force. */
  read(): ResolvedConfig
  apply(change: KernelChange, dryRun: boolean): Promise<ChangeReport>
  findings(): readonly Finding[]
  /** Catalog that was read last. */
  catalog(): PluginCatalog
  generations(): readonly GenerationReport[]
  readonly editor: ConfigEditor
  /** Starts plugins that a process for one command left out. */
  activate(plugins: readonly string[]): Promise<unknown>
  readAgain(): Promise<readonly ConfigProblem[]>
  build(directory: string): Promise<BuildReport>
  configSchema(): Record<string, unknown>
  stop(reason: string): void
  ownerOf(file: string): string | undefined
  /** True if a plugin belongs to the installation of svc. */
  isBundled(name: string): boolean
  /** Time limit of a health check in milliseconds; default 5,000. */
  readonly healthTimeoutMs?: number
}

export function createAdmin(host: AdminHost): KernelAdmin {
  const record = (name: string): PluginRecord => {
    const found = host.kernel().records.get(name)
    if (found !== undefined) return found
    const near = closest(name, [...host.kernel().records.keys()])
    throw adminErrors.create('KRN_PLUGIN_UNKNOWN', `no plugin named ${name} was discovered`, {
      hint: near === undefined ? 'svc plugins list shows the known plugins' : `did you mean ${near}?`
    })
  }
  const reported = new Map<symbol, readonly Finding[]>()
  const findings = (): readonly Finding[] => [...host.findings(), ...[...reported.values()].flat()]
  return {
    serves: host.serves,
    isServer: host.isServer,
    plugins: () => ordered(host.kernel()).map(each => report(each, host.kernel())),
    manifest: (name): PluginManifest | undefined => host.kernel().records.get(name)?.manifest ?? undefined,
    isBundled: name => host.isBundled(name),
    graph: (): readonly GraphEdge[] => host.kernel().graph.edges,
    why: subject =>
      subject.includes('@')
        ? whyToken(host.kernel(), subject)
        : [...whyPlugin(record(subject), host.kernel()), ...findingsOf(subject, host, findings())],
    hooks: () => hooksOf(host.kernel()),
    effects: (name): EffectNode => effectsOf(record(name)),
    top: (milliseconds, signal) => cpuShares(host, milliseconds, signal),
    health: () => healthOf(host.kernel(), host.healthTimeoutMs ?? 5_000),
    apply: async (change, options) => {
      const { enable = [], disable = [], reload = [], activate = [] } = change
      for (const name of [...enable, ...disable, ...reload, ...activate]) record(name)
      return host.apply(change, options?.dryRun ?? false)
    },
    findings,
    report: (reporter, list) => {
      if (list.length === 0) reported.delete(reporter)
      else reported.set(reporter, list)
    },
    build: directory => host.build(directory),
    settings: (prefix): readonly SettingReport[] => host.config().settings(prefix),
    explain: (key): SettingExplanation => {
      const { refused, ...inForce } = host.config().explain(key)
      const found = host.read().explain(key).refused ?? refused
      return found === undefined ? inForce : { ...inForce, refused: found }
    },
    validate: () => host.readAgain(),
    configSchema: () => host.configSchema(),
    configuration: host.editor,
    secrets: signal => secretsReport({ ...host, kernel: host.kernel(), config: host.config() }, signal),
    generations: () => host.generations(),
    conflicts: () => conflictsOf(host.kernel(), host.read(), host.catalog().found),
    permissions: name => permissionsOf(record(name), host.kernel()),
    stop: reason => host.stop(reason)
  }
}

/** Returns running plugins in activation order, then the others by name. */
function ordered(kernel: Kernel): PluginRecord[] {
  const position = new Map(kernel.graph.order.map((name, index) => [name, index]))
  const rank = (each: PluginRecord): number => position.get(each.name) ?? Number.MAX_SAFE_INTEGER
  return [...kernel.records.values()].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

function report(each: PluginRecord, kernel: Kernel): PluginReport {
  const { unit, manifest } = each
  const open = unit?.openBreakers() ?? []
  return {
    name: each.name,
    version: each.source.version,
    summary: manifest?.summary ?? '',
    state: each.state,
    generation: unit?.generation ?? null,
    isolation: kernel.configurationOf(each.name).policy.isolation,
    operations: manifest?.operations.length ?? 0,
    hooks: unit?.taps.length ?? 0,
    inFlight: unit?.inFlight ?? 0,
    calls: each.stats.calls,
    failures: each.stats.failures,
    activateMs: unit?.activateMs ?? null,
    why: open.length > 0 ? `breaker open: ${open.join(', ')}` : each.why,
    hint: open.length > 0 ? null : hintOf(each),
    refused: each.refusal !== null,
    location: each.source.location
  }
}

function permissionsOf({ name, manifest }: PluginRecord, kernel: Kernel): PermissionReport {
  const { isolation, permissions: granted } = kernel.configurationOf(name).policy
  const requested = manifest?.permissions ?? {}
  return {
    plugin: name,
    isolation,
    requested,
    granted,
    effective: isolation === 'in-process' ? null : (granted ?? requested)
  }
}

function whyPlugin(each: PluginRecord, kernel: Kernel): string[] {
  const { name } = each
  const lines = reasons(each)
  for (const operation of each.unit?.openBreakers() ?? [])
    lines.push(`the breaker of ${operation} is open after repeated faults`)
  for (const edge of kernel.graph.edges) {
    if (edge.from !== name || edge.kind !== 'requires') continue
    const provider = edge.to === null ? undefined : kernel.records.get(edge.to)
    const state = edge.to === 'kernel' ? 'built in' : (provider?.state ?? 'missing')
    lines.push(`it requires ${edge.token} from ${edge.to ?? 'no plugin'} (${state})`)
    if (edge.to === null) lines.push(...providersOf(edge.token, kernel).flatMap(each => reasons(each)))
  }
  const users = kernel.graph.edges
    .filter(edge => edge.to === name)
    .map(edge => `${edge.from} (${edge.token}, ${edge.kind})`)
  if (users.length > 0) lines.push(`it is used by ${users.join(', ')}`)
  return lines
}

/** Returns findings about a plugin that its state does not show, such as rejected settings or a duplicate name. */
function findingsOf(name: string, host: AdminHost, findings: readonly Finding[]): string[] {
  const { source, why } = host.kernel().records.get(name) ?? { source: undefined, why: null }
  const shown = `${why ?? ''} ${source?.problem?.message ?? ''}`
  return findings
    .filter(({ plugin, message }) => plugin === name && !shown.includes(message))
    .flatMap(({ severity, message, hint }) => [`${severity}: ${message}`, ...hintLine(hint, message)])
}

function reasons(each: PluginRecord): string[] {
  const { name, state, why } = each
  return [`${name} is ${state}${why === null ? '' : `: ${why}`}`, ...hintLine(hintOf(each), why ?? '')]
}

function hintOf({ source, hint }: PluginRecord): string | null {
  return source.problem?.hint ?? hint
}

/** Returns the line for a hint, unless the message contains it. */
function hintLine(hint: string | null, message: string): string[] {
  return hint === null || message.includes(hint) ? [] : [`hint: ${hint}`]
}

function providersOf(token: string, kernel: Kernel): PluginRecord[] {
  return [...kernel.records.values()].filter(each =>
    (each.manifest?.provides as readonly string[] | undefined)?.includes(token)
  )
}

function whyToken(kernel: Kernel, token: string): string[] {
  const providers = providersOf(token, kernel)
  const lines = providers.map(
    each => `${each.name} provides ${token} and is ${each.state}${each.why === null ? '' : `: ${each.why}`}`
  )
  if (token.startsWith('kernel.')) lines.push(`the kernel provides ${token}`)
  if (lines.length === 0) lines.push(`no known plugin provides ${token}`)
  const users = kernel.graph.edges.filter(edge => edge.token === token && edge.kind !== 'ref')
  for (const edge of users) lines.push(`${edge.from} ${edge.kind === 'requires' ? 'requires' : 'would use'} it`)
  return lines
}

function hooksOf({ records, current }: Kernel): HookReport[] {
  const declared = new Map<string, { readonly hook: DeclaredHook; readonly owners: string[] }>(
    kernelHooks.map(hook => [hook.id, { hook, owners: ['kernel'] }])
  )
  for (const { name, manifest } of records.values()) {
    for (const hook of manifest?.hooks ?? []) {
      const known = declared.get(hook.id)
      if (known === undefined) declared.set(hook.id, { hook, owners: [name] })
      else known.owners.push(name)
    }
  }
  const taps = [...current.units.values()].flatMap(unit => unit.taps)
  return [...declared.values()]
    .map(({ hook, owners }) => {
      const owner = owners.toSorted().join(', ')
      const { id, onError, summary = '', payload = {} } = hook
      const own = taps.filter(tap => tap.hook.id === id)
      const ordered = own.toSorted((a, b) => (a.options.order ?? 0) - (b.options.order ?? 0))
      return { id, kind: hookKind(hook), owner, summary, onError, payload, taps: ordered.map(({ plugin }) => plugin) }
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

function effectsOf(each: PluginRecord): EffectNode {
  const { unit } = each
  const leaf = (label: string): EffectNode => ({ label, children: [] })
  const group = (label: string, labels: readonly string[]): EffectNode[] =>
    labels.length === 0 ? [] : [{ label, children: labels.map(leaf) }]
  if (unit === null) return leaf(`${each.name} (${each.state})`)
  return {
    label: `${each.name} ${each.source.version} (${each.state}, ${unit.instance})`,
    children: [
      ...group('operations', [...unit.operations.keys()]),
      ...group('services', [...unit.services.keys()]),
      ...group(
        'contributions',
        unit.items.map(item =>
          item.keys.length > 0 ? `${item.point}: ${item.keys.join(', ')}` : `${item.point}: ${item.label}`
        )
      ),
      ...group(
        'hook taps',
        unit.taps.map(tap => tap.options.label ?? tap.hook.id)
      ),
      ...group('commands', [...unit.commands.keys()]),
      ...group(
        'health checks',
        unit.healthChecks.map(check => check.label)
      ),
      ...group(
        'follows',
        unit.serving.followers.map(({ point }) => point.id)
      ),
      ...group(
        'on serve',
        unit.serving.onServe.map(({ label }) => label)
      ),
      ...group(
        'on drain',
        unit.serving.onDrain.map(({ label }) => label)
      ),
      ...group('tasks', [...unit.tasks.values()]),
      { ...unit.scope.tree(), label: 'effects' }
    ]
  }
}

async function cpuShares(host: AdminHost, milliseconds: number, signal?: AbortSignal): Promise<CpuShare[]> {
  const calls = (): Map<string, number> =>
    new Map([...host.kernel().records.values()].map(({ name, stats }) => [name, stats.calls]))
  const before = calls()
  const cpu = await sampleCpu(milliseconds, host.ownerOf, signal)
  const after = calls()
  const names = new Set([...cpu.keys(), ...after.keys()])
  names.delete('idle')
  return [...names]
    .map(plugin => {
      const cpuMs = (cpu.get(plugin) ?? 0) / 1000
      return {
        plugin,
        cpuMs,
        share: cpuMs / milliseconds,
        calls: (after.get(plugin) ?? 0) - (before.get(plugin) ?? 0)
      }
    })
    .sort((a, b) => b.cpuMs - a.cpuMs)
}

async function healthOf(kernel: Kernel, limitMs: number): Promise<HealthReport[]> {
  const checks = [...kernel.current.units.values()].flatMap(unit => unit.healthChecks.map(check => ({ unit, check })))
  return Promise.all(
    checks.map(async ({ unit, check }) => ({
      plugin: unit.name,
      label: check.label,
      ...(await runHealthCheck(check, limitMs))
    }))
  )
}

async function runHealthCheck({ check }: HealthCheck, limitMs: number): Promise<Health> {
  try {
    const health = (async () => check())()
    if (await settlesWithin(limitMs, health)) return await health
    return { status: 'failed', detail: `the health check did not finish within ${limitMs} ms` }
  } catch (error) {
    return { status: 'failed', detail: errorMessage(error) }
  }
}
