import { setTimeout as delay } from 'node:timers/promises'
import {
  type DashboardPage,
  dashboardCards,
  dashboardInbox,
  dashboardPages,
  kernelAdmin,
  kernelPort,
  metricsText,
  resourceLimits
} from '@svc/contracts'
import { definePlugin, type Handler, type PluginContext } from '@svc/plugin-sdk'
import { measure } from './measure.ts'
import { LIMITS_TOPIC, limitsInbox, limitsStatus } from './operations.ts'
import { settings } from './settings.ts'
import { Watcher } from './watcher.ts'

const PAGE = 'limits/limits'

export default definePlugin({
  name: 'limits',
  summary: 'Warns before the disk or the memory is full, and protects the database',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin },
  provides: [resourceLimits],
  operations: [limitsStatus, limitsInbox],
  activate(ctx, { kernel, admin }) {
    const watcher = new Watcher({
      measure: () => measure(kernel.stateRoot),
      settings: () => ctx.config,
      log: ctx.log,
      changed: () => ctx.changed(LIMITS_TOPIC)
    })
    ctx.provide(resourceLimits, watcher)
    ctx.implement(limitsStatus, statusHandler(watcher))
    ctx.implement(limitsInbox, inboxHandler(watcher))
    contributeConsole(ctx)
    ctx.contribute(metricsText, { render: () => metricsOf(watcher) })
    ctx.health('disk and memory', () => {
      const messages = watcher.warnings.map(({ message }) => message)
      return messages.length === 0 ? { status: 'ok' } : { status: 'degraded', detail: messages.join('; ') }
    })
    if (admin?.serves === false) return
    ctx.onConfig(() => void watcher.look())
    ctx.onServe('measurements', () =>
      ctx.background('measurements', async signal => {
        while (!signal.aborted) {
          await watcher.look()
          await delay(ctx.config.interval_s * 1_000, undefined, { signal, ref: false }).catch(() => undefined)
        }
      })
    )
  }
})

function statusHandler(watcher: Watcher): Handler<typeof limitsStatus> {
  return async () => {
    await watcher.look()
    const { last, warnings, refusal } = watcher
    if (last === null) throw new Error('disk and memory cannot be measured')
    const { at, ...measured } = last
    const text = [
      `disk:   ${mib(last.disk_free_bytes)} of ${mib(last.disk_size_bytes)} free`,
      `memory: ${mib(last.memory_used_bytes)} of ${mib(last.memory_limit_bytes)} used (${last.memory_source})`,
      `svc:    ${mib(last.rss_bytes)}, JavaScript heap ${mib(last.heap_used_bytes)} of ${mib(last.heap_limit_bytes)}`,
      ...warnings.map(({ message, hint }) => `warning: ${message}; ${hint}`)
    ].join('\n')
    return {
      healthy: warnings.length === 0,
      measured_at: new Date(at).toISOString(),
      ...measured,
      refuses_writes: refusal !== null,
      warnings: warnings.map(each => ({ ...each, since: new Date(each.since).toISOString() })),
      text
    }
  }
}

function inboxHandler(watcher: Watcher): Handler<typeof limitsInbox> {
  const titles = { disk: 'The disk is nearly full', memory: 'Memory is nearly full', heap: 'The heap is nearly full' }
  return () => ({
    items: watcher.warnings.map(({ resource, level, message, hint, since }) => ({
      id: `${resource} ${level}`,
      kind: 'failure' as const,
      title: level === 'refuse' ? 'The database refuses writes' : titles[resource],
      body: `${message}; ${hint}.`,
      since,
      link: `/ui/p/${PAGE}`,
      answers: []
    }))
  })
}

function metricsOf({ last, refusal, warnings }: Watcher): string {
  if (last === null) return ''
  const gauge = (name: string, help: string, value: number): string[] => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    `${name} ${value}`
  ]
  return [
    ...gauge('svc_disk_free_bytes', 'Free space of the disk of the state folder.', last.disk_free_bytes),
    ...gauge('svc_disk_size_bytes', 'Size of the disk of the state folder.', last.disk_size_bytes),
    ...gauge('svc_memory_used_bytes', 'Used memory of the container or the machine.', last.memory_used_bytes),
    ...gauge('svc_memory_limit_bytes', 'Memory of the container or the machine.', last.memory_limit_bytes),
    ...gauge('svc_heap_limit_bytes', 'Limit of the JavaScript heap.', last.heap_limit_bytes),
    ...gauge('svc_limit_warnings', 'Resources that are nearly used up.', warnings.length),
    ...gauge('svc_writes_refused', 'Whether the database refuses writes.', refusal === null ? 0 : 1),
    ''
  ].join('\n')
}

function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  const page: DashboardPage = {
    path: PAGE,
    title: 'Disk and memory',
    summary: 'Free space, used memory and the limits at which svc warns. Settings: plugins.limits',
    icon: 'gauge',
    section: 'system',
    order: 80,
    view: {
      kind: 'stack',
      items: [
        {
          view: {
            kind: 'record',
            operation: 'limits.status',
            columns: [
              { field: 'disk_free_bytes', title: 'Free disk space', format: 'bytes' },
              { field: 'disk_size_bytes', title: 'Size of the disk', format: 'bytes' },
              { field: 'memory_used_bytes', title: 'Used memory', format: 'bytes' },
              { field: 'memory_limit_bytes', title: 'Limit of the memory', format: 'bytes' },
              { field: 'memory_source', title: 'Memory of' },
              { field: 'rss_bytes', title: 'Memory of svc', format: 'bytes' },
              { field: 'heap_used_bytes', title: 'Used heap', format: 'bytes' },
              { field: 'heap_limit_bytes', title: 'Limit of the heap', format: 'bytes' },
              { field: 'refuses_writes', title: 'Database refuses writes', format: 'boolean' }
            ]
          }
        },
        {
          title: 'Warnings',
          view: {
            kind: 'table',
            operation: 'limits.status',
            rows: 'warnings',
            key: 'resource',
            columns: [
              { field: 'message', title: 'Warning' },
              { field: 'hint', title: 'Next step' },
              { field: 'since', title: 'Since', format: 'time' }
            ],
            empty: 'There is enough disk space and memory.'
          }
        }
      ]
    }
  }
  ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardInbox, { operation: 'limits.inbox' })
  ctx.contribute(dashboardCards, {
    title: 'Disk and memory',
    order: 80,
    size: 's',
    link: { page: PAGE },
    view: {
      kind: 'record',
      operation: 'limits.status',
      columns: [
        { field: 'disk_free_bytes', title: 'Free disk space', format: 'bytes' },
        { field: 'memory_used_bytes', title: 'Used memory', format: 'bytes' }
      ]
    }
  })
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`
}
