import {
  type BenchmarkRecorder,
  type BenchmarkResult,
  benchmarkRecorder,
  type KernelAdmin,
  type LoadedModel
} from '@svc/contracts'
import {
  defineOperation,
  errorMessage,
  type Handler,
  type Infer,
  isSvcError,
  LinkedSignal,
  type Ref,
  t
} from '@svc/plugin-sdk'
import type { Completions } from './completions.ts'
import { errors } from './errors.ts'
import { adapterOf } from './served-model.ts'
import type { ServedModels } from './served-models.ts'

const {
  MSV_BUSY,
  MSV_CONTEXT_EXCEEDED,
  MSV_MEMORY,
  MSV_MODEL_FAILED,
  MSV_MODEL_LOADING,
  MSV_MODEL_UNKNOWN,
  MSV_STOPPED,
  MSV_TIMEOUT
} = errors.specs

const TEXT = 'Each order has a customer, an amount and a date. List the orders of the last month by amount. '
const BENCH_TIMEOUT_MS = 3_600_000

const round = t.object({
  first_token_ms: t.nullable(t.number({ description: 'From the request to the first token.' })),
  tokens_per_second: t.nullable(t.number({ description: 'Tokens after the first one; null for fewer than 2 tokens.' })),
  prompt_tokens: t.integer(),
  completion_tokens: t.integer()
})

export const modelBench = defineOperation({
  id: 'model.bench',
  summary: 'Measure the speed of the served model',
  description:
    'Each round sends another prompt, so that none is answered from the cache. Stop other work on the machine first.',
  input: t.object({
    model: t.optional(t.string({ minLength: 1, description: 'Name of the model or adapter; default: the model.' })),
    rounds: t.integer({ default: 5, minimum: 1, maximum: 100, description: 'Measured rounds, after one warm-up.' }),
    prompt_tokens: t.integer({ default: 128, minimum: 8, maximum: 100_000, description: 'Length of each prompt.' }),
    max_tokens: t.integer({ default: 64, minimum: 2, maximum: 10_000, description: 'Maximum tokens of an answer.' })
  }),
  output: t.object({
    model: t.string(),
    device: t.string(),
    precision: t.string(),
    first_token_ms: t.nullable(t.number({ description: 'Median of the rounds.' })),
    tokens_per_second: t.nullable(t.number({ description: 'Median of the rounds.' })),
    rounds: t.array(round),
    recorded: t.integer({ description: 'Rows that telemetry recorded; 0 if it does not record benchmarks.' }),
    warning: t.optional(t.string({ description: 'Why the figures were not recorded, although they should be.' }))
  }),
  errors: {
    MSV_BUSY,
    MSV_CONTEXT_EXCEEDED,
    MSV_MEMORY,
    MSV_MODEL_FAILED,
    MSV_MODEL_LOADING,
    MSV_MODEL_UNKNOWN,
    MSV_STOPPED,
    MSV_TIMEOUT
  },
  effect: 'write',
  concurrency: 1,
  timeoutMs: BENCH_TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/models/bench' },
    rpc: true,
    cli: {
      command: 'model bench',
      args: ['model'],
      view: { fields: ['model', 'device', 'precision', 'first_token_ms', 'tokens_per_second', 'recorded', 'warning'] }
    }
  }
})

type Round = Infer<typeof round>

export interface BenchServices {
  readonly models: ServedModels
  readonly recorder: Ref<BenchmarkRecorder> | undefined
  readonly admin: KernelAdmin | undefined
}

export function benchModel(services: BenchServices): Handler<typeof modelBench> {
  return async ({ model: name, rounds: count, prompt_tokens, max_tokens }, call) => {
    const { served, weights, completions } = await services.models.slot(name)
    served.check(name)
    const use = await weights.use(call.signal)
    try {
      const variant = served.find(name)
      const { model } = served.ready()
      const rounds: Round[] = []
      for (let index = 0; index <= count; index++) {
        const tokens = promptOf(model, prompt_tokens)
        const measured = await measure(completions, call.signal, tokens, max_tokens, adapterOf(variant))
        // The first round loads code and caches.
        if (index > 0) rounds.push(measured)
        call.progress(index, count, 'rounds')
      }
      const { device, precision } = model.info
      const figures = {
        first_token_ms: median(rounds.map(each => each.first_token_ms)),
        tokens_per_second: median(rounds.map(each => each.tokens_per_second))
      }
      const details = { source: 'model.bench', model: variant.name, device, precision, rounds: count, prompt_tokens }
      const result = (name: string, value: number | null, unit: string) =>
        ({ type: 'benchmark_event', name, value, unit, details: { ...details, max_tokens } }) as const
      const stored = await store(services, [
        result('model.tokens_per_second', figures.tokens_per_second, 'tokens/s'),
        result('model.first_token', figures.first_token_ms, 'ms')
      ])
      return { model: variant.name, device, precision, ...figures, rounds, ...stored }
    } finally {
      use.release()
    }
  }
}

/** Records results. If that fails, the measured figures are not lost: the cause is returned as a warning. */
async function store(
  services: BenchServices,
  results: readonly BenchmarkResult[]
): Promise<{ readonly recorded: number; readonly warning?: string }> {
  try {
    return { recorded: (await (await recorderOf(services))?.record(results)) ?? 0 }
  } catch (error) {
    const code = isSvcError(error) ? ` (${error.code})` : ''
    return { recorded: 0, warning: `the figures were not recorded: ${errorMessage(error)}${code}` }
  }
}

let prompts = 0

/** Returns a prompt of exactly this length, which begins differently each time. */
function promptOf(model: LoadedModel, length: number): readonly number[] {
  prompts += 1
  const tokens = [...model.tokenize(`${prompts} ${Date.now()} ${TEXT}`, { special: false })]
  const more = model.tokenize(TEXT, { special: false })
  while (tokens.length < length) tokens.push(...more.slice(0, length - tokens.length))
  return tokens.slice(0, length)
}

async function measure(
  completions: Completions,
  signal: AbortSignal,
  tokens: readonly number[],
  maxTokens: number,
  variant: ReturnType<typeof adapterOf>
): Promise<Round> {
  const ended = new AbortController()
  const linked = new LinkedSignal().with(signal).with(ended.signal)
  const startedAt = performance.now()
  try {
    const completion = await completions.start(
      { prompt: { kind: 'tokens', tokens }, maxTokens, sampling: { temperature: 0 }, startedAt, ...variant },
      linked.signal
    )
    let firstAt: number | undefined
    let lastAt = startedAt
    let usage = { promptTokens: tokens.length, completionTokens: 0 }
    // The tokens of the first event arrive together.
    let first = 0
    for await (const event of completion) {
      if (event.type === 'done') {
        usage = event.usage
        continue
      }
      lastAt = performance.now()
      if (firstAt !== undefined) continue
      firstAt = lastAt
      first = event.tokens.length
    }
    const seconds = firstAt === undefined ? 0 : (lastAt - firstAt) / 1_000
    const further = usage.completionTokens - first
    return {
      first_token_ms: firstAt === undefined ? null : rounded(firstAt - startedAt),
      tokens_per_second: further < 1 || seconds === 0 ? null : rounded(further / seconds),
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens
    }
  } finally {
    ended.abort()
    linked.close()
  }
}

/** Returns the recorder. A process for one command has not loaded it, and does so now. */
async function recorderOf({ recorder, admin }: BenchServices): Promise<BenchmarkRecorder | undefined> {
  const current = recorder?.available
  if (current !== undefined || admin === undefined || admin.serves) return current
  const plugin = admin.plugins().find(({ name }) => admin.manifest(name)?.provides.includes(benchmarkRecorder.id))
  if (plugin === undefined || plugin.state === 'disabled') return undefined
  await admin.apply({ activate: [plugin.name] })
  return recorder?.available
}

/** Returns the median of the measured values; null if no round measured one. */
function median(values: readonly (number | null)[]): number | null {
  const sorted = values.filter(each => each !== null).toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? null : rounded((low + high) / 2)
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
