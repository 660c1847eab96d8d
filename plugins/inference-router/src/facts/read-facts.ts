import type { ModelServerApi } from '@svc/contracts'
import { plainName } from '../model-name.ts'
import { labelOf, readSamples, type Sample, total } from './exposition.ts'
import { NO_LOAD, type ReportedFacts } from './facts.ts'
import type { FactsClient } from './facts-client.ts'
import { ollamaModels } from './ollama-models.ts'
import { openAiModels } from './openai-models.ts'

/** Reads the facts of a server of one kind. Throws `FactsError`. */
export const READ_FACTS: Readonly<Record<ModelServerApi, (client: FactsClient) => Promise<ReportedFacts>>> = {
  svc: readSvc,
  ollama: readOllama,
  vllm: readVllm,
  'llama.cpp': readLlamaCpp,
  openai: readOpenAi
}

const STARTED = 'process_start_time_seconds'

async function readSvc(client: FactsClient): Promise<ReportedFacts> {
  const [models, text] = await Promise.all([ollamaModels(client), client.optionalText('/metrics')])
  const names = ['svc_model_running', 'svc_model_waiting', 'svc_model_slots', STARTED]
  const samples = readSamples(text ?? '', names)
  return {
    ...NO_LOAD,
    models,
    running: total(samples, 'svc_model_running'),
    waiting: total(samples, 'svc_model_waiting'),
    slots: total(samples, 'svc_model_slots'),
    startedAt: total(samples, STARTED)
  }
}

/** Ollama reports no queue length. */
async function readOllama(client: FactsClient): Promise<ReportedFacts> {
  return { ...NO_LOAD, models: await ollamaModels(client) }
}

const LORA = 'vllm:lora_requests_info'
const CACHE = 'vllm:kv_cache_usage_perc'
/** Name of {@link CACHE} in older versions. */
const OLD_CACHE = 'vllm:gpu_cache_usage_perc'

/** Metrics by docs.vllm.ai, Production Metrics. Values of several engines are added. */
async function readVllm(client: FactsClient): Promise<ReportedFacts> {
  const [models, text] = await Promise.all([openAiModels(client), client.optionalText('/metrics')])
  const names = ['vllm:num_requests_running', 'vllm:num_requests_waiting', CACHE, OLD_CACHE, LORA, STARTED]
  const samples = readSamples(text ?? '', names)
  const usage = (samples.get(CACHE)?.length ?? 0) > 0 ? samples.get(CACHE) : samples.get(OLD_CACHE)
  return {
    ...NO_LOAD,
    models,
    running: total(samples, 'vllm:num_requests_running'),
    waiting: total(samples, 'vllm:num_requests_waiting'),
    cacheUsage: usage === undefined || usage.length === 0 ? null : Math.max(...usage.map(({ value }) => value)),
    activeAdapters: activeAdapters(samples.get(LORA) ?? []),
    startedAt: total(samples, STARTED)
  }
}

/**
 * Returns the adapters that vLLM has in the memory of the GPU. The value of the sample is its time; the newest sample
 * holds. Adapters are names with commas between them.
 */
function activeAdapters(samples: readonly Sample[]): ReadonlySet<string> | null {
  const newest = samples.toSorted((a, b) => b.value - a.value)[0]
  if (newest === undefined) return null
  const names = ['running_lora_adapters', 'waiting_lora_adapters'].flatMap(label =>
    (labelOf(newest, label) ?? '').split(',')
  )
  return new Set(names.map(name => plainName(name.trim())).filter(name => name !== ''))
}

/**
 * Routes by tools/server/README.md of llama.cpp: `/metrics` needs the flag `--metrics`, `/slots` can be switched off,
 * `/props` has `total_slots`.
 */
async function readLlamaCpp(client: FactsClient): Promise<ReportedFacts> {
  const [models, text, props] = await Promise.all([
    openAiModels(client),
    client.optionalText('/metrics'),
    client.optionalJson('/props')
  ])
  const names = ['llamacpp:requests_processing', 'llamacpp:requests_deferred', 'llamacpp:prompt_tokens_total']
  const samples = readSamples(text ?? '', names)
  const slots = (props as { total_slots?: unknown } | null)?.total_slots
  return {
    ...NO_LOAD,
    models,
    running: total(samples, 'llamacpp:requests_processing') ?? (await busySlots(client)),
    waiting: total(samples, 'llamacpp:requests_deferred'),
    slots: typeof slots === 'number' && slots > 0 ? slots : null,
    counter: total(samples, 'llamacpp:prompt_tokens_total')
  }
}

async function busySlots(client: FactsClient): Promise<number | null> {
  const slots = await client.optionalJson('/slots')
  if (!Array.isArray(slots)) return null
  return slots.filter(slot => (slot as { is_processing?: unknown } | null)?.is_processing === true).length
}

async function readOpenAi(client: FactsClient): Promise<ReportedFacts> {
  return { ...NO_LOAD, models: await openAiModels(client) }
}
