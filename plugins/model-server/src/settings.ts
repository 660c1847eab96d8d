import { type Infer, t } from '@svc/plugin-sdk'
import { DURATION } from './duration.ts'

export const settings = t.object({
  model: t.optional(
    t.string({
      minLength: 1,
      description: 'Run directory of the model, relative to the project. Without it the bundled model is served.'
    })
  ),
  model_name: t.optional(
    t.string({ minLength: 1, description: 'Name that clients ask for. Without it the last part of the run directory.' })
  ),
  adapters: t.record(t.string({ minLength: 1 }), {
    default: {},
    description:
      'Adapters that are added when the model is loaded: name to folder, relative to the project. Clients ask for MODEL:NAME.'
  }),
  adapter_roots: t.array(t.string({ minLength: 1 }), {
    default: [],
    description: 'Folders beside the project in which callers of model.adapters.add may name adapters.'
  }),
  must_load: t.boolean({
    default: false,
    description: 'Whether a model that cannot be loaded at the start is an uncaught error of the plugin.'
  }),
  host: t.string({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on.' }),
  port: t.integer({
    default: 11435,
    minimum: 0,
    maximum: 65535,
    description: 'Port to listen on; 0 takes a free one.'
  }),
  api_key: t.optional(
    t.secret({ minLength: 1, description: 'Bearer token that every route but GET / asks for. Without it none does.' })
  ),
  device: t.optional(
    t.string({
      pattern: '^(auto|best|cpu|cuda(:[0-9]+)?|metal|webgpu)$',
      description:
        'Device that computes: auto (or best), cpu, cuda, cuda:N, metal, webgpu. Without it the engine decides.'
    })
  ),
  quantization: t.optional(
    t.enum(['auto', 'none', 'q8', 'q4'], {
      description:
        'Bits a weight: auto, none (as the checkpoint stores them), q8, q4. Without it the setting of the engine decides.'
    })
  ),
  slots: t.integer({ default: 1, minimum: 1, maximum: 256, description: 'Answers that are generated at once.' }),
  queue: t.integer({
    default: 8,
    minimum: 0,
    maximum: 10_000,
    'x-reload': 'live',
    description: 'Requests that may wait for a slot; further ones are answered with 503.'
  }),
  context: t.optional(
    t.integer({ minimum: 16, description: 'Upper bound on the context in tokens. Without it what the model allows.' })
  ),
  keep_alive: t.string({
    default: '-1',
    pattern: DURATION,
    'x-reload': 'live',
    description:
      'How long the model stays loaded after its last request, such as 5m; without a unit seconds. 0 unloads it at once, a negative one never. Requests of the Ollama API may say otherwise.'
  }),
  max_tokens: t.integer({
    default: 512,
    minimum: 1,
    'x-reload': 'live',
    description: 'Tokens generated at most when a request names no number.'
  }),
  temperature: t.number({
    default: 0.7,
    minimum: 0,
    maximum: 5,
    'x-reload': 'live',
    description: 'Temperature when a request names none; 0 always takes the most probable token.'
  }),
  request_timeout_seconds: t.number({
    default: 600,
    minimum: 0,
    maximum: 2_000_000,
    'x-reload': 'live',
    description: 'Seconds that an answer may take, waiting included; 0 for no limit.'
  }),
  grammar: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description:
        'Named grammar that answers follow when a request names no format and no tools. Plugins offer grammars.'
    })
  ),
  max_body_bytes: t.integer({
    default: 4_194_304,
    minimum: 1024,
    description: 'Largest request body in bytes; larger ones are answered with 413.'
  }),
  stall_seconds: t.number({
    default: 60,
    exclusiveMinimum: 0,
    'x-reload': 'live',
    description: 'Seconds that a streaming client may stop reading before its answer is given up.'
  })
})

export type Settings = Infer<typeof settings>
