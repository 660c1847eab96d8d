import type { GenerateUsage, ObservabilitySpans, SpanParent } from '@svc/contracts'
import { isSvcError, unixMs } from '@svc/plugin-sdk'

const PLUGIN = 'model-server'
const NANOSECONDS_PER_MS = 1e6

/** Records the parts of a completion as spans below the request that it belongs to. */
export interface CompletionSpans {
  /** Keeps the measurements of the engine for the end. */
  usage(usage: GenerateUsage): void
  /** Ends the completion. Further calls have no effect. */
  end(error?: unknown): void
}

/** Begins the spans of a completion; null if its request is not recorded. */
export function completionSpans(
  spans: ObservabilitySpans | undefined,
  parent: SpanParent | undefined,
  model: string
): CompletionSpans | null {
  if (spans === undefined || parent === undefined) return null
  const start = unixMs()
  let measured: GenerateUsage | null = null
  let isOver = false
  return {
    usage(usage) {
      measured = usage
    },
    end(error) {
      if (isOver) return
      isOver = true
      const tokens: Record<string, number> =
        measured === null
          ? {}
          : {
              'gen_ai.usage.input_tokens': measured.promptTokens,
              'gen_ai.usage.output_tokens': measured.completionTokens,
              'svc.cached_tokens': measured.cachedTokens
            }
      const span = spans.add({
        parent,
        plugin: PLUGIN,
        name: `generate ${model}`,
        start,
        ms: unixMs() - start,
        error: error === undefined ? null : isSvcError(error) ? error.code : 'failed',
        attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, ...tokens }
      })
      if (measured === null) return
      let from = start
      for (const [name, nanoseconds] of [
        ['queue', measured.queueNs],
        ['prefill', measured.promptNs],
        ['decode', measured.completionNs]
      ] as const) {
        const ms = nanoseconds / NANOSECONDS_PER_MS
        spans.add({ parent: span, plugin: PLUGIN, name, start: from, ms })
        from += ms
      }
    }
  }
}
