import { type GenerationView, type KernelAdmin, metricsText } from '@svc/contracts'
import type { Registry } from 'prom-client'
import type { LogError } from '../answer-errors.ts'
import { joinExpositions } from '../exposition.ts'
import { withTimeLimit } from '../with-time-limit.ts'
import type { BuiltIn } from './built-in.ts'
import { pluginStates } from './invalid-plugins.ts'
import { pluginMetrics } from './plugin-metrics.ts'

const RENDER_TIMEOUT_MS = 2_000

export interface MetricsParts {
  registry(): Promise<Registry>
  readonly report: LogError
  readonly admin: Pick<KernelAdmin, 'plugins'> | undefined
}

/**
 * Returns /metrics: metrics of this plugin, of the kernel for every plugin, and of other plugins. If a source fails,
 * only its lines are missing.
 */
export function metricsRoute(generation: GenerationView, { registry, report, admin }: MetricsParts): BuiltIn {
  const others = generation.items(metricsText)
  const own = `# HELP svc_generation Generation that serves.\n# TYPE svc_generation gauge\nsvc_generation ${generation.id}\n`
  return {
    path: '/metrics',
    open: false,
    mainOnly: false,
    async answer({ requestId }) {
      const texts = await Promise.all(
        others.map(async ({ item, unit }) => {
          const of = { plugin: unit.name, request_id: requestId }
          try {
            const text = await withTimeLimit(RENDER_TIMEOUT_MS, item.render())
            if (text === undefined) report('metrics took too long', { ...of, limitMs: RENDER_TIMEOUT_MS })
            return text ?? ''
          } catch (error) {
            report('metrics failed', { ...of, error })
            return ''
          }
        })
      )
      const opened = await registry()
      return {
        type: opened.contentType,
        body: joinExpositions([await opened.metrics(), own, pluginMetrics(generation), pluginStates(admin), ...texts])
      }
    }
  }
}
