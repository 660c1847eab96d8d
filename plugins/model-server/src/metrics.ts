import { createRequire } from 'node:module'
import type { GenerateUsage, LoadedModel } from '@svc/contracts'
import type { Counter, Gauge, Histogram } from 'prom-client'

/** Measurements of one completion. */
export interface CompletionRecord {
  /** Records a piece of text. */
  text(tokens: number): void
  usage(usage: GenerateUsage): void
  /**
   * Records the end: `stop`, `length`, `cancelled`, `timeout`, `busy`, `refused` or `failed`. Only the first call
   * counts.
   */
  end(outcome: string): void
}

export interface Metrics {
  begin(model: string, adapter: string): CompletionRecord
}

export const NO_METRICS: Metrics = {
  begin: () => ({ text: () => undefined, usage: () => undefined, end: () => undefined })
}

const FIRST_TOKEN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const INTER_TOKEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1]
const REQUEST_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

const LABELS = ['model', 'adapter'] as const

let loaded: typeof import('prom-client') | undefined

/** Loads the library on first use, because most processes never need it. Synchronous, as the start of a completion. */
function prometheus(): typeof import('prom-client') {
  return (loaded ??= createRequire(import.meta.url)('prom-client') as typeof import('prom-client'))
}

/** Loaded model, with its name in labels. */
export interface NamedModel {
  readonly name: string
  readonly model: LoadedModel
}

/** {@link PrometheusMetrics}, created at the first completion or scrape. */
export class LazyMetrics implements Metrics {
  #opened: PrometheusMetrics | undefined

  begin(model: string, adapter: string): CompletionRecord {
    return this.#metrics().begin(model, adapter)
  }

  render(models: readonly NamedModel[]): Promise<string> {
    return this.#metrics().render(models)
  }

  #metrics(): PrometheusMetrics {
    return (this.#opened ??= new PrometheusMetrics())
  }
}

/** Prometheus metrics of completions, kept across reloads. */
class PrometheusMetrics implements Metrics {
  readonly #registry = new (prometheus().Registry)()
  readonly #firstToken = this.#histogram(
    'time_to_first_token_seconds',
    'Time from the request to the first text of its answer.',
    FIRST_TOKEN_SECONDS
  )
  readonly #interToken = this.#histogram(
    'inter_token_seconds',
    'Time between two tokens of an answer.',
    INTER_TOKEN_SECONDS
  )
  readonly #queued = this.#histogram('queue_seconds', 'Time that requests wait for a slot.', FIRST_TOKEN_SECONDS)
  readonly #duration = this.#histogram('request_seconds', 'Time from the request to its end.', REQUEST_SECONDS)
  readonly #requests = new (prometheus().Counter)({
    name: 'svc_model_requests_total',
    help: 'Completions by outcome.',
    labelNames: [...LABELS, 'outcome'],
    registers: [this.#registry]
  })
  readonly #promptTokens = this.#counter('prompt_tokens_total', 'Tokens of prompts.')
  readonly #cachedTokens = this.#counter(
    'cached_prompt_tokens_total',
    'Tokens of prompts that were read from the prefix cache.'
  )
  readonly #completionTokens = this.#counter('completion_tokens_total', 'Tokens generated.')

  begin(model: string, adapter: string): CompletionRecord {
    const labels = { model, adapter }
    const began = performance.now()
    let last: number | undefined
    let ended = false
    return {
      text: tokens => {
        const now = performance.now()
        if (last === undefined) this.#firstToken.observe(labels, (now - began) / 1000)
        else {
          const seconds = (now - last) / 1000 / Math.max(1, tokens)
          for (let token = 0; token < tokens; token++) this.#interToken.observe(labels, seconds)
        }
        last = now
      },
      usage: usage => {
        this.#promptTokens.inc(labels, usage.promptTokens)
        this.#cachedTokens.inc(labels, usage.cachedTokens)
        this.#completionTokens.inc(labels, usage.completionTokens)
        this.#queued.observe(labels, usage.queueNs / 1e9)
      },
      end: outcome => {
        if (ended) return
        ended = true
        this.#requests.inc({ ...labels, outcome })
        this.#duration.observe(labels, (performance.now() - began) / 1000)
      }
    }
  }

  /** Returns the metrics in Prometheus text format, including the engine's of the loaded models. */
  async render(models: readonly NamedModel[]): Promise<string> {
    const measured = await this.#registry.metrics()
    return models.length === 0 ? measured : `${measured}\n${await stateOf(models)}`
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram<(typeof LABELS)[number]> {
    const registers = [this.#registry]
    return new (prometheus().Histogram)({ name: `svc_model_${name}`, help, buckets, labelNames: LABELS, registers })
  }

  #counter(name: string, help: string): Counter<(typeof LABELS)[number]> {
    const registers = [this.#registry]
    return new (prometheus().Counter)({ name: `svc_model_${name}`, help, labelNames: LABELS, registers })
  }
}

/** Returns the engine's own metrics. Loading the model resets them. */
function stateOf(models: readonly NamedModel[]): Promise<string> {
  const { Counter, Gauge, Registry } = prometheus()
  const registry = new Registry()
  const metrics = new Map<string, Counter | Gauge>()
  for (const { name, model } of models) {
    addState(model, (kind, key, help, value) => {
      const Kind = kind === 'counter' ? Counter : Gauge
      const metric =
        metrics.get(key) ?? new Kind({ name: `svc_model_${key}`, help, labelNames: ['model'], registers: [registry] })
      metrics.set(key, metric)
      metric.inc({ model: name }, value)
    })
  }
  return registry.metrics()
}

type AddMetric = (kind: 'counter' | 'gauge', key: string, help: string, value: number) => void

function addState(model: LoadedModel, add: AddMetric): void {
  const { slots, active, waiting } = model.capacity()
  const statistics = model.statistics()
  const { decodeRuns, decodedSequences } = statistics
  add('gauge', 'slots', 'Answers that can be generated concurrently.', slots)
  add('gauge', 'running', 'Answers that are being generated.', active)
  add('gauge', 'waiting', 'Requests that wait for a slot.', waiting)
  add('gauge', 'active_sequences', 'Same as svc_model_running.', active)
  add('gauge', 'queue_length', 'Same as svc_model_waiting.', waiting)
  add('gauge', 'cache_positions', 'Cache positions of all slots.', statistics.cachePositions)
  add('gauge', 'cache_positions_used', 'Cache positions that hold a token.', statistics.cachePositionsUsed)
  add('gauge', 'weight_bytes', 'Memory of the weights.', statistics.weightBytes)
  add('gauge', 'cache_bytes', 'Memory of the caches.', statistics.cacheBytes)
  add(
    'gauge',
    'batch_size',
    'Mean number of sequences in a decoder run.',
    decodeRuns === 0 ? 0 : decodedSequences / decodeRuns
  )
  add('counter', 'decode_runs_total', 'Runs of the decoder for completions.', decodeRuns)
  add('counter', 'decoded_sequences_total', 'Sequences in these runs, summed over the runs.', decodedSequences)
  add(
    'counter',
    'drafted_tokens_total',
    'Tokens that speculation drafted from the text so far.',
    statistics.draftedTokens
  )
  add('counter', 'accepted_tokens_total', 'Drafted tokens that were accepted.', statistics.acceptedTokens)
}
