import { arch, availableParallelism, homedir, release, totalmem, type } from 'node:os'
import { type KernelAdmin, type KernelPort, supportSections } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { redact } from './redact.ts'

/** Log lines and requests in a bundle. */
const MAX_ROWS = 500
const SECTION_TIMEOUT_MS = 10_000
/** Fields of log lines whose texts are no content of users. */
const LOG_FIELDS = new Set([
  'code',
  'status',
  'request_id',
  'trace_id',
  'operation',
  'method',
  'route',
  'reason',
  'hint',
  'state',
  'cause',
  'listener',
  'error_code',
  'served_by'
])

export interface Section {
  readonly name: string
  readonly summary: string
  readonly value: unknown
}

export interface SectionSource {
  readonly kernel: Pick<KernelPort, 'current' | 'version' | 'mask' | 'repositoryId'>
  readonly admin: KernelAdmin
  /** Calls an operation of another plugin. */
  call(id: string, input: object): Promise<unknown>
}

/** Collects everything that a bug report needs. What is not available says why; all texts are masked. */
export async function collectSections(source: SectionSource, signal: AbortSignal): Promise<Section[]> {
  const { kernel, admin } = source
  // A single command knows only the secrets of its plugins; this adds the others.
  await settled(() => admin.secrets(signal), signal)
  const own: readonly [string, string, () => unknown][] = [
    ['versions', 'versions of svc and Node, and the machine', () => versions(kernel)],
    ['plugins', 'plugins with their states', () => plugins(admin)],
    ['settings', 'settings in force, without secrets', () => settings(admin)],
    ['findings', 'problems of plugins and settings', () => admin.findings()],
    ['changes', 'the last changes of the running plugins', () => admin.generations().slice(0, 50)],
    ['doctor', 'result of svc doctor', () => source.call('kernel.doctor', {})],
    ['log', `the last ${MAX_ROWS} log lines, without contents`, () => logLines(source)],
    ['requests', `the last ${MAX_ROWS} HTTP requests: routes, status and times`, () => requests(source)],
    [
      'metrics',
      'metrics, now and over the last two hours',
      () => source.call('observability.metrics', { points: 120 })
    ],
    ['resources', 'disk space and memory', () => source.call('limits.status', {})]
  ]
  const others = kernel.current
    .items(supportSections)
    .map(({ item }): [string, string, () => unknown] => [item.name, item.summary, () => item.collect(signal)])
  const redaction = { mask: (text: string) => kernel.mask(text), home: homedir() }
  const sections: Section[] = []
  for (const [name, summary, collect] of [...own, ...others]) {
    signal.throwIfAborted()
    sections.push({ name, summary, value: redact(await settled(collect, signal), redaction) })
  }
  return sections
}

/** Returns the value, or why there is none. */
async function settled(collect: () => unknown, signal: AbortSignal): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise(resolve => {
    timer = setTimeout(() => resolve({ unavailable: `no answer within ${SECTION_TIMEOUT_MS} ms` }), SECTION_TIMEOUT_MS)
  })
  try {
    return await Promise.race([(async () => (await collect()) ?? null)(), late])
  } catch (error) {
    signal.throwIfAborted()
    return { unavailable: errorMessage(error) }
  } finally {
    clearTimeout(timer)
  }
}

function versions({ version, repositoryId }: Pick<KernelPort, 'version' | 'repositoryId'>): object {
  return {
    svc: version,
    node: process.version,
    v8: process.versions.v8,
    platform: process.platform,
    system: `${type()} ${release()}`,
    architecture: arch(),
    cores: availableParallelism(),
    memory_bytes: totalmem(),
    rss_bytes: process.memoryUsage.rss(),
    uptime_seconds: Math.round(process.uptime()),
    repository_id: repositoryId
  }
}

function plugins(admin: KernelAdmin): object[] {
  return admin.plugins().map(plugin => ({ ...plugin, bundled: admin.isBundled(plugin.name) }))
}

function settings(admin: KernelAdmin): object[] {
  return admin.settings().map(({ key, value, layer, secret }) => {
    const shown = secret && !(typeof value === 'string' && value.startsWith('secret://')) ? mark(value) : value
    return { key, value: shown, layer }
  })
}

function mark(value: unknown): string | null {
  return value === undefined || value === null || value === '' ? null : '***'
}

async function logLines({ call }: SectionSource): Promise<object[]> {
  const { lines } = (await call('observability.logs', { limit: MAX_ROWS })) as {
    readonly lines: readonly { readonly fields: Readonly<Record<string, unknown>> }[]
  }
  return lines.map(({ fields, ...line }) => {
    const kept = Object.entries(fields).filter(
      ([name, value]) => LOG_FIELDS.has(name) || typeof value === 'number' || typeof value === 'boolean'
    )
    return { ...line, fields: Object.fromEntries(kept) }
  })
}

async function requests({ call }: SectionSource): Promise<object[]> {
  const { requests: rows } = (await call('observability.requests', { limit: MAX_ROWS })) as {
    readonly requests: readonly Readonly<Record<string, unknown>>[]
  }
  // A path may hold names and ids of users; the route is its pattern.
  return rows.map(({ path: _path, principal: _principal, ...row }) => row)
}
