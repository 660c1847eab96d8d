import type { ChatImage, InferenceClient, RemoteModel, RunningModel } from '@svc/contracts'
import { imageOf, inferenceErrors, isOffered, MAX_IMAGES, textModelNames, unlessChosen } from '@svc/contracts'
import { defineOperation, type Handler, type InputOf, t } from '@svc/plugin-sdk'

const {
  ICL_ADDRESS_INVALID,
  ICL_BROKEN_OFF,
  ICL_BUSY,
  ICL_IMAGE_INVALID,
  ICL_MODEL_UNKNOWN,
  ICL_REFUSED,
  ICL_RUNNING_UNKNOWN,
  ICL_UNAUTHORIZED,
  ICL_UNREACHABLE
} = inferenceErrors.specs
const ERRORS = { ICL_ADDRESS_INVALID, ICL_BUSY, ICL_REFUSED, ICL_UNAUTHORIZED, ICL_UNREACHABLE }

const endpoint = t.object({
  url: t.string({ description: 'Base URL of the server.' }),
  api: t.enum(['ollama', 'openai'], { description: 'Format of the server.' }),
  setting: t.string({ description: 'Setting that holds the address, or default.' })
})

const remoteModel = t.object({
  name: t.string(),
  size_bytes: t.nullable(t.integer()),
  modified_at: t.nullable(t.string()),
  digest: t.nullable(t.string()),
  family: t.nullable(t.string()),
  parameters: t.nullable(t.string()),
  quantization: t.nullable(t.string()),
  kind: t.nullable(
    t.enum(['embedding', 'reranker'], {
      description: 'What it computes; null for text, or if the server does not say.'
    })
  )
})

export const listModels = defineOperation({
  id: 'inference.models',
  summary: "List the models of this project's model server",
  input: t.object({}),
  output: t.object({ endpoint, models: t.array(remoteModel) }),
  errors: ERRORS,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/inference/models' },
    mcp: {
      name: 'svc_inference_models',
      toolsets: ['models'],
      use: 'What the configured server can load. What is loaded now: svc_inference_running.'
    },
    rpc: true,
    cli: {
      command: 'model list',
      view: { rows: 'models', columns: ['name', 'kind', 'parameters', 'quantization', 'size_bytes', 'modified_at'] }
    }
  }
})

const runningModel = t.object({
  name: t.string(),
  size_bytes: t.nullable(t.integer({ description: 'Memory of the model.' })),
  gpu_bytes: t.nullable(t.integer({ description: 'GPU memory of the model.' })),
  processor: t.nullable(t.enum(['cpu', 'gpu', 'cpu+gpu'], { description: 'Device of the model.' })),
  context: t.nullable(t.integer({ description: 'Maximum tokens of prompt plus answer.' })),
  until: t.nullable(t.string({ description: 'When the idle model is unloaded; null for never.' }))
})

export const listRunning = defineOperation({
  id: 'inference.running',
  summary: 'List the models that the server has loaded',
  input: t.object({}),
  output: t.object({ endpoint, models: t.array(runningModel) }),
  errors: { ...ERRORS, ICL_RUNNING_UNKNOWN },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/inference/running' },
    mcp: {
      name: 'svc_inference_running',
      toolsets: ['models'],
      use: 'What uses memory on the model server now. All models: svc_inference_models.'
    },
    rpc: true,
    cli: {
      command: 'model ps',
      view: { rows: 'models', columns: ['name', 'size_bytes', 'processor', 'context', 'until'] }
    }
  }
})

export const showModel = defineOperation({
  id: 'inference.model',
  summary: 'Show details of one model',
  input: t.object({
    model: t.optional(t.string({ minLength: 1, description: "Default: INFER_MODEL, or the server's only model." }))
  }),
  output: t.object({ endpoint, model: remoteModel }),
  errors: { ...ERRORS, ICL_MODEL_UNKNOWN },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/inference/model' },
    rpc: true,
    cli: { command: 'model show', args: ['model'] }
  }
})

export const checkModel = defineOperation({
  id: 'inference.check',
  summary: 'Check that the model server has the requested model',
  input: t.object({
    model: t.optional(t.string({ minLength: 1, description: "Default: INFER_MODEL, or the server's only model." }))
  }),
  output: t.object({
    healthy: t.boolean({ description: 'True if a request for the model would be served.' }),
    model: t.string(),
    endpoint: t.nullable(endpoint),
    offered: t.array(t.string(), { description: 'Models of the server.' }),
    text: t.string({ description: 'The result, with advice if there is a problem.' })
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/inference/check' },
    mcp: {
      name: 'svc_inference_check',
      toolsets: ['models'],
      use: 'Use it when svc_inference_chat fails: it says whether the server or the model is missing.'
    },
    rpc: true,
    cli: { command: 'model pull-check', args: ['model'], view: { text: 'text' } }
  }
})

export const askModel = defineOperation({
  id: 'inference.chat',
  summary: "Generate an answer with this project's model server",
  input: t.object({
    prompt: t.string({ minLength: 1, description: 'The prompt.' }),
    system: t.optional(t.string({ description: 'System prompt for the model.' })),
    images: t.optional(
      t.array(
        t.object({
          data: t.optional(t.string({ minLength: 1, description: 'PNG, JPEG, GIF or WebP in base64.' })),
          url: t.optional(t.string({ minLength: 1, description: 'HTTPS URL, in place of data.' }))
        }),
        { maxItems: MAX_IMAGES, description: 'Images that the prompt is about.' }
      )
    ),
    model: t.optional(t.string({ minLength: 1, description: "Default: INFER_MODEL, or the server's only model." })),
    temperature: t.optional(
      t.number({ minimum: 0, maximum: 2, description: 'Randomness of the answer; 0 is deterministic.' })
    ),
    max_tokens: t.optional(t.integer({ minimum: 1, description: 'Maximum tokens of the answer.' }))
  }),
  output: t.object({
    text: t.string(),
    model: t.string(),
    finish_reason: t.enum(['stop', 'length', 'tool-calls']),
    prompt_tokens: t.integer(),
    completion_tokens: t.integer()
  }),
  events: t.string({ description: 'The next piece of the answer.' }),
  errors: { ...ERRORS, ICL_MODEL_UNKNOWN, ICL_BROKEN_OFF, ICL_IMAGE_INVALID },
  effect: 'read',
  idempotent: false,
  timeoutMs: 600_000,
  expose: {
    http: { method: 'POST', path: '/api/inference/chat' },
    mcp: {
      name: 'svc_inference_chat',
      toolsets: ['models'],
      use: 'Sends messages to the configured model server. The model that this process serves: svc_generate_text.'
    },
    rpc: true
  }
})

export function listHandler(client: InferenceClient): Handler<typeof listModels> {
  return async (_, call) => {
    const models = await client.models(call.signal)
    return { endpoint: { ...(await client.endpoint(call.signal)) }, models: models.map(shown) }
  }
}

export function runningHandler(client: InferenceClient): Handler<typeof listRunning> {
  return async (_, call) => {
    const models = await client.running(call.signal)
    return { endpoint: { ...(await client.endpoint(call.signal)) }, models: models.map(shownRunning) }
  }
}

export function showHandler(client: InferenceClient): Handler<typeof showModel> {
  return async ({ model }, call) => {
    const models = await client.models(call.signal)
    const wanted = unlessChosen(model ?? client.model, textModelNames(models))
    const found = models.find(({ name }) => isOffered(wanted, [name]))
    if (found !== undefined) return { endpoint: { ...(await client.endpoint(call.signal)) }, model: shown(found) }
    const { problem, offered } = await client.check({ model: wanted, signal: call.signal })
    return call.fail('ICL_MODEL_UNKNOWN', problem ?? `the model server does not offer "${wanted}"`, {
      model: wanted,
      offered
    })
  }
}

export function checkHandler(client: InferenceClient): Handler<typeof checkModel> {
  return async ({ model }, call) => {
    const { ok, problem, endpoint, offered, ...check } = await client.check({
      ...(model === undefined ? {} : { model }),
      signal: call.signal
    })
    return {
      healthy: ok,
      model: check.model,
      endpoint: endpoint === null ? null : { ...endpoint },
      offered: [...offered],
      text: problem ?? `the model server at ${endpoint?.url} offers "${check.model}"`
    }
  }
}

export function askHandler(client: InferenceClient): Handler<typeof askModel> {
  return async ({ prompt, system, images = [], model, temperature, max_tokens }, call) => {
    const parts: string[] = []
    const sent = images.map(toImage)
    const request = {
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
        { role: 'user', content: prompt, ...(sent.length === 0 ? {} : { images: sent }) } as const
      ],
      ...(model === undefined ? {} : { model }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(max_tokens === undefined ? {} : { maxTokens: max_tokens }),
      signal: call.signal
    }
    for await (const event of client.chat(request)) {
      if (event.type === 'text') {
        parts.push(event.text)
        call.emit(event.text)
      } else if (event.type === 'done') {
        return {
          text: parts.join(''),
          model: event.model,
          finish_reason: event.finishReason,
          prompt_tokens: event.usage.promptTokens,
          completion_tokens: event.usage.completionTokens
        }
      }
    }
    return call.fail('ICL_BROKEN_OFF')
  }
}

type GivenImage = NonNullable<InputOf<typeof askModel>['images']>[number]

function toImage({ data, url }: GivenImage, at: number): ChatImage {
  const source = `images[${at}]`
  if (data !== undefined && url === undefined) return imageOf(data, source)
  if (url !== undefined && data === undefined) return { url }
  throw inferenceErrors.create('ICL_IMAGE_INVALID', `${source}: it needs either data or url`)
}

function shown(model: RemoteModel) {
  return {
    name: model.name,
    size_bytes: model.sizeBytes,
    modified_at: model.modifiedAt,
    digest: model.digest,
    family: model.family,
    parameters: model.parameters,
    quantization: model.quantization,
    kind: model.kind ?? null
  }
}

function shownRunning({ name, sizeBytes, gpuBytes, contextLength, expiresAt }: RunningModel) {
  const size = { size_bytes: sizeBytes, gpu_bytes: gpuBytes }
  return { name, ...size, processor: processorOf(sizeBytes, gpuBytes), context: contextLength, until: expiresAt }
}

function processorOf(size: number | null, onGpu: number | null): 'cpu' | 'gpu' | 'cpu+gpu' | null {
  if (onGpu === null) return null
  if (onGpu === 0) return 'cpu'
  return size === null || onGpu >= size ? 'gpu' : 'cpu+gpu'
}
