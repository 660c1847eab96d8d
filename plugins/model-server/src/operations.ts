import type { ModelHooks } from '@svc/contracts'
import { defined, defineOperation, type Handler, type Infer, t } from '@svc/plugin-sdk'
import { type ChatRequest, startChat } from './chat-answer.ts'
import { errors } from './errors.ts'
import type { Grammars } from './grammars.ts'
import { RequestTaps } from './request-taps.ts'
import { adapterOf, type ServedModel } from './served-model.ts'
import type { ServedModels } from './served-models.ts'
import { MODELS_TOPIC } from './statistics-operation.ts'

const modelSummary = t.object({
  name: t.string({ description: 'Name of the model that clients send.' }),
  status: t.enum(['idle', 'loading', 'ready', 'unloaded', 'failed']),
  detail: t.string({ description: 'State of the model in one sentence.' }),
  directory: t.string({ description: 'Run directory.' }),
  device: t.optional(t.string()),
  family: t.optional(t.string()),
  parameters: t.optional(t.integer({ description: 'Number of weights.' })),
  precision: t.optional(t.string()),
  context: t.optional(t.integer({ description: 'Maximum tokens of prompt plus answer.' })),
  adapter: t.optional(t.boolean({ description: 'Whether a LoRA adapter is merged into the weights.' })),
  adapters: t.optional(t.array(t.string(), { description: 'Adapters by the model name that clients send.' })),
  tools: t.optional(t.boolean({ description: 'Whether the chat template supports tools.' })),
  thinking: t.optional(t.boolean({ description: 'Whether the chat template can enable thoughts.' })),
  digest: t.optional(t.string()),
  url: t.optional(t.string({ description: 'Base URL of the OpenAI and Ollama APIs, while the server listens.' })),
  key_required: t.boolean({ description: 'Whether clients of these APIs must send a key.' })
})

/** How clients reach the server. */
export interface ModelAddress {
  /** Undefined while the server does not listen. */
  url(): string | undefined
  readonly keyRequired: boolean
}

export const modelList = defineOperation({
  id: 'model.list',
  summary: 'Show the served models and their state',
  input: t.object({}),
  output: t.object({ models: t.array(modelSummary) }),
  effect: 'read',
  watch: { on: [MODELS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/models' },
    mcp: {
      name: 'svc_model_list',
      toolsets: ['models'],
      use: 'Models of this process. Those of another server: svc_inference_models.'
    },
    rpc: true,
    cli: {
      command: 'model status',
      view: { rows: 'models', columns: ['name', 'status', 'device', 'parameters', 'precision', 'context', 'directory'] }
    }
  }
})

const {
  MSV_BUSY,
  MSV_CONSTRAINT_UNSUPPORTED,
  MSV_CONTEXT_EXCEEDED,
  MSV_MEMORY,
  MSV_MODEL_FAILED,
  MSV_MODEL_LOADING,
  MSV_MODEL_UNKNOWN,
  MSV_REQUEST_INVALID,
  MSV_STOPPED,
  MSV_TIMEOUT
} = errors.specs
export const GENERATE_ERRORS = {
  MSV_BUSY,
  MSV_CONSTRAINT_UNSUPPORTED,
  MSV_CONTEXT_EXCEEDED,
  MSV_MEMORY,
  MSV_MODEL_FAILED,
  MSV_MODEL_LOADING,
  MSV_MODEL_UNKNOWN,
  MSV_REQUEST_INVALID,
  MSV_STOPPED,
  MSV_TIMEOUT
}
export const GENERATE_TIMEOUT_MS = 600_000

export const modelGenerate = defineOperation({
  id: 'model.generate',
  summary: 'Generate an answer with the served model',
  input: t.object({
    prompt: t.string({ minLength: 1, description: 'Prompt for the model.' }),
    system: t.optional(t.string({ description: 'System prompt: instructions for the model.' })),
    model: t.optional(t.string({ description: 'Name of the model; default: the served model.' })),
    max_tokens: t.optional(t.integer({ minimum: 1, description: 'Maximum number of tokens to generate.' })),
    temperature: t.optional(
      t.number({
        minimum: 0,
        maximum: 5,
        description: 'Sampling temperature; 0 always selects the most probable token.'
      })
    ),
    seed: t.optional(
      t.integer({ description: 'Seed of the random sampling; the same seed, request and model give the same text.' })
    ),
    stop: t.optional(
      t.array(t.string({ minLength: 1 }), { description: 'Strings at which the answer ends; they are not part of it.' })
    )
  }),
  output: t.object({
    text: t.string(),
    model: t.string(),
    finish_reason: t.enum(['stop', 'length']),
    prompt_tokens: t.integer(),
    completion_tokens: t.integer()
  }),
  events: t.string({ description: 'The next piece of the answer.' }),
  errors: GENERATE_ERRORS,
  effect: 'read',
  idempotent: false,
  timeoutMs: GENERATE_TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/models/generate' },
    mcp: {
      name: 'svc_generate_text',
      toolsets: ['models'],
      use: 'One prompt to the served model, without context of the project. With context: svc_chat_message.'
    },
    rpc: true,
    cli: {
      command: 'model generate',
      args: ['prompt'],
      aliases: { temperature: 't', max_tokens: 'n' },
      view: { text: 'text' }
    }
  }
})

export function listModels(models: ServedModels, address: ModelAddress): Handler<typeof modelList> {
  return async () => ({ models: (await models.slots()).map(({ served }) => summaryOf(served, address)) })
}

function summaryOf(served: ServedModel, address: ModelAddress): Infer<typeof modelSummary> {
  const { state, known, name, directory } = served
  const summary = {
    name,
    status: state.status,
    detail: served.describe(),
    directory,
    ...defined({ url: address.url() }),
    key_required: address.keyRequired
  }
  if (known === undefined) return summary
  const { device, family, parameters, precision, contextLength, adapter, digest } = known.info
  const details = { device, family, parameters, precision, context: contextLength, adapter: adapter !== null, digest }
  const [, ...adapters] = served.names()
  return { ...summary, ...details, ...known.chatCapabilities, adapters }
}

export function generateText(
  models: ServedModels,
  grammars: Grammars,
  hooks: ModelHooks
): Handler<typeof modelGenerate> {
  return async (input, call) => {
    const { served, weights, completions } = await models.slot(input.model)
    served.check(input.model)
    const constraint = grammars.byDefault()
    const use = await weights.use(call.signal)
    try {
      const variant = served.find(input.model)
      const system = input.system === undefined ? [] : [{ role: 'system', content: input.system } as const]
      const request: ChatRequest = {
        intent: {
          messages: [...system, { role: 'user', content: input.prompt }],
          thinkingField: 'prompt',
          ...defined({ constraint })
        },
        options: {
          ...adapterOf(variant),
          sampling: {
            ...(input.temperature === undefined ? {} : { temperature: input.temperature }),
            ...(input.seed === undefined ? {} : { seed: input.seed })
          },
          ...(input.max_tokens === undefined ? {} : { maxTokens: input.max_tokens }),
          ...(input.stop === undefined ? {} : { stop: input.stop })
        }
      }
      const text: string[] = []
      const taps = new RequestTaps(hooks, variant.name)
      const { events } = await startChat(served, completions, request, call.signal, taps)
      for await (const event of events) {
        if (event.type === 'text') {
          text.push(event.text)
          call.emit(event.text)
        } else if (event.type === 'done') {
          const { promptTokens, completionTokens } = event.usage
          return {
            text: text.join(''),
            model: variant.name,
            finish_reason: event.finishReason === 'length' ? 'length' : 'stop',
            prompt_tokens: promptTokens,
            completion_tokens: completionTokens
          }
        }
      }
      return call.fail('MSV_STOPPED')
    } finally {
      use.release()
    }
  }
}
