import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { LocalStore } from '../catalogue/local-store.ts'
import { MODEL_NAME } from '../catalogue/model-name.ts'
import { errors } from '../errors.ts'
import type { PullEvent } from './progress.ts'

const {
  MSV_CATALOGUE,
  MSV_MODEL_EXISTS,
  MSV_MODEL_NAME,
  MSV_PULL_CHECKSUM,
  MSV_PULL_FAILED,
  MSV_PULL_NAME,
  MSV_PULL_NOT_FOUND,
  MSV_PULL_RUNNING,
  MSV_PULL_SPACE,
  MSV_RUN_DIRECTORY
} = errors.specs

export const modelPull = defineOperation({
  id: 'model.pull',
  summary: 'Download a model, and give it a name that requests can use',
  description:
    'From Hugging Face (org/model, hf.co/org/model:Q4_0), the Ollama registry (llama3.2:1b), an https URL of a GGUF file, or a path. An interrupted download continues where it stopped.',
  input: t.object({
    model: t.string({ minLength: 1, maxLength: 2_000, description: 'Model, URL or path to pull.' }),
    as: t.optional(t.string({ pattern: MODEL_NAME, maxLength: 200, description: 'Name that clients send.' }))
  }),
  output: t.object({
    name: t.string({ description: 'Name that clients send.' }),
    path: t.string(),
    bytes: t.integer({ description: 'Size of the weights.' }),
    changed: t.boolean({ description: 'False if the files on disk were up to date.' }),
    notes: t.array(t.string(), { description: 'What the model has that this server does not use, with the reasons.' })
  }),
  events: t.object({
    status: t.enum(['planning', 'downloading', 'done']),
    text: t.string({ description: 'The event in one line.' }),
    file: t.optional(t.string()),
    digest: t.optional(t.string()),
    completed: t.integer({ description: 'Bytes on disk.' }),
    total: t.optional(t.integer()),
    bytes_per_second: t.optional(t.integer()),
    eta_seconds: t.optional(t.integer())
  }),
  errors: {
    MSV_CATALOGUE,
    MSV_MODEL_EXISTS,
    MSV_MODEL_NAME,
    MSV_PULL_CHECKSUM,
    MSV_PULL_FAILED,
    MSV_PULL_NAME,
    MSV_PULL_NOT_FOUND,
    MSV_PULL_RUNNING,
    MSV_PULL_SPACE,
    MSV_RUN_DIRECTORY
  },
  effect: 'write',
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/models/pull' },
    rpc: true,
    cli: { command: 'model pull', args: ['model'], view: { stream: 'text' } }
  }
})

export function pullModel(store: LocalStore): Handler<typeof modelPull> {
  return async ({ model, as }, call) => {
    const onEvent = (event: PullEvent): void => call.emit(event)
    const pulled = await store.pullAny({ from: model, as, signal: call.signal, onEvent })
    const { name, path, bytes, changed, notes } = pulled
    return { name, path, bytes, changed, notes: [...notes] }
  }
}
