import { type Infer, t } from '@svc/plugin-sdk'
import { DURATION } from './duration.ts'

export const settings = t.object({
  model: t.optional(
    t.string({
      minLength: 1,
      description: 'Run directory or GGUF file of the model, relative to the project; default: the bundled model.'
    })
  ),
  model_name: t.optional(
    t.string({
      minLength: 1,
      description: 'Name of the model that clients send; default: the last part of the path, without .gguf.'
    })
  ),
  embedding_model: t.optional(
    t.string({
      minLength: 1,
      description:
        'Folder of the embedding model, relative to the project; default: none, and requests for embeddings get 501. Clients send the last part as its name.'
    })
  ),
  reranker_model: t.optional(
    t.string({
      minLength: 1,
      description:
        'Folder of the reranker, relative to the project; default: none, and requests to rank documents get 501. Clients send the last part as its name.'
    })
  ),
  embedding_quantization: t.optional(
    t.enum(['auto', 'none', 'q8', 'q4'], {
      description:
        'Quantisation of the embedding model and the reranker: auto, none (as in the files), q8, q4; default: the engine setting.'
    })
  ),
  models: t.record(t.string({ minLength: 1 }), {
    default: {},
    description:
      'Further models by name: run directory or GGUF file, relative to the project. The first request for one loads it.'
  }),
  models_folder: t.optional(
    t.string({
      minLength: 1,
      description: "Folder of pulled models, relative to the project; default: in the project's state folder."
    })
  ),
  unfinished_days: t.integer({
    default: 30,
    minimum: 0,
    maximum: 3650,
    'x-reload': 'live',
    description: 'Days without a change after which an unfinished download is deleted; 0 for never.'
  }),
  huggingface_url: t.string({
    default: 'https://huggingface.co',
    pattern: '^https?://[^/?#@]+(/[^?#]*)?$',
    'x-reload': 'live',
    description: 'Base URL of Hugging Face, or of a mirror, for svc model pull.'
  }),
  huggingface_token: t.optional(
    t.secret({
      minLength: 1,
      'x-reload': 'live',
      description: 'Token for private and gated models of Hugging Face; sent only to the host of huggingface_url.'
    })
  ),
  ollama_registry_url: t.string({
    default: 'https://registry.ollama.ai',
    pattern: '^https?://[^/?#@]+(/[^?#]*)?$',
    'x-reload': 'live',
    description: 'Base URL of the Ollama registry for svc model pull.'
  }),
  memory_limit_bytes: t.optional(
    t.integer({
      minimum: 1,
      'x-reload': 'live',
      description:
        'Memory that all loaded models may use; idle ones are unloaded for others. Default: 80 % of the memory of the machine.'
    })
  ),
  adapters: t.record(t.string({ minLength: 1 }), {
    default: {},
    description:
      'Adapters that are added when the model is loaded: name to folder, relative to the project. Clients request MODEL:NAME.'
  }),
  adapter_roots: t.array(t.string({ minLength: 1 }), {
    default: [],
    description: 'Folders outside the project from which model.adapters.add may load adapters.'
  }),
  must_load: t.boolean({
    default: false,
    description: 'Whether a failed load at startup is an uncaught error of the plugin.'
  }),
  host: t.string({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on.' }),
  port: t.integer({
    default: 11435,
    minimum: 0,
    maximum: 65535,
    description: 'Port to listen on; 0 for a free port.'
  }),
  api_key: t.optional(
    t.secret({ minLength: 1, description: 'Bearer token that every route but GET / requires; default: no token.' })
  ),
  origins: t.array(t.string({ pattern: '^(\\*|[A-Za-z][A-Za-z0-9+.-]*://[^/\\s?#@]+)$' }), {
    default: [],
    'x-env': 'SVC_MODEL_SERVER_ORIGINS',
    description:
      'Further origins whose pages may call, such as https://app.example.org, http://box.local:* or * for all. Pages of this machine and of desktop applications always may.'
  }),
  device: t.optional(
    t.string({
      pattern: '^(auto|best|cpu|cuda(:[0-9]+)?|metal|webgpu)$',
      description: 'Device to run on: auto (or best), cpu, cuda, cuda:N, metal, webgpu; default: the engine decides.'
    })
  ),
  quantization: t.optional(
    t.enum(['auto', 'none', 'q8', 'q4'], {
      description:
        'Quantisation of the weights: auto, none (as in the checkpoint), q8, q4; default: the engine setting.'
    })
  ),
  slots: t.optional(
    t.union([t.integer({ minimum: 1, maximum: 256 }), t.enum(['auto'])], {
      description:
        'Answers that are generated concurrently; auto, the default: as many full contexts as fit into memory, up to 16. On the CPU, unused slots need no memory.'
    })
  ),
  queue: t.integer({
    default: 512,
    minimum: 0,
    maximum: 10_000,
    'x-reload': 'live',
    description: 'Requests that may wait for a slot; further requests get 503.'
  }),
  context: t.optional(
    t.integer({ minimum: 16, description: 'Maximum context in tokens; default: that of the model.' })
  ),
  keep_alive: t.string({
    default: '-1',
    pattern: DURATION,
    'x-reload': 'live',
    description:
      'Time that a model stays loaded after its last request, such as 5m, or a number of seconds. 0 unloads it immediately, a negative value never. Requests of the Ollama API may override it.'
  }),
  max_tokens: t.integer({
    default: 512,
    minimum: 1,
    'x-reload': 'live',
    description: 'Maximum generated tokens of requests that set none.'
  }),
  temperature: t.number({
    default: 0.7,
    minimum: 0,
    maximum: 5,
    'x-reload': 'live',
    description: 'Temperature of requests that set none; 0 always selects the most probable token.'
  }),
  request_timeout_seconds: t.number({
    default: 600,
    minimum: 0,
    maximum: 2_000_000,
    'x-reload': 'live',
    description: 'Seconds that an answer may take, including its time in the queue; 0 for no limit.'
  }),
  grammar: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description: 'Name of the grammar for requests that set neither format nor tools. Plugins provide grammars.'
    })
  ),
  responses_days: t.integer({
    default: 30,
    minimum: 1,
    maximum: 3650,
    'x-reload': 'live',
    description:
      'Days for which the database keeps responses of /v1/responses. Without a database, the newest are kept in memory until the process ends.'
  }),
  max_body_bytes: t.integer({
    default: 4_194_304,
    minimum: 1024,
    description: 'Maximum size of a request body in bytes; larger bodies get 413.'
  }),
  stall_seconds: t.number({
    default: 60,
    exclusiveMinimum: 0,
    'x-reload': 'live',
    description: 'Seconds that a streaming client may stop reading before its answer is aborted.'
  })
})

export type Settings = Infer<typeof settings>
