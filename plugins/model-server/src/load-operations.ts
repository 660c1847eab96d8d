import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { errors } from './errors.ts'
import type { ServedModel } from './served-model.ts'
import type { ServedModels } from './served-models.ts'

const { MSV_MEMORY, MSV_MODEL_FAILED, MSV_MODEL_UNKNOWN } = errors.specs
const model = t.optional(t.string({ minLength: 1, description: 'Name of the model; default: the first served model.' }))
const output = t.object({
  name: t.string(),
  status: t.enum(['idle', 'loading', 'ready', 'unloaded', 'failed']),
  detail: t.string({ description: 'State of the model in one sentence.' })
})
const LOAD_TIMEOUT_MS = 600_000

export const modelLoad = defineOperation({
  id: 'model.load',
  summary: 'Load a model into memory',
  input: t.object({ model }),
  output,
  errors: { MSV_MEMORY, MSV_MODEL_FAILED, MSV_MODEL_UNKNOWN },
  effect: 'write',
  idempotent: true,
  timeoutMs: LOAD_TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/models/load' },
    rpc: true,
    cli: { command: 'model load', args: ['model'], view: { text: 'detail' } }
  }
})

export const modelUnload = defineOperation({
  id: 'model.unload',
  summary: 'Unload a model after its running requests',
  description: 'The next request loads the model again.',
  input: t.object({ model }),
  output,
  errors: { MSV_MODEL_UNKNOWN },
  effect: 'write',
  idempotent: true,
  expose: {
    http: { method: 'POST', path: '/api/models/unload' },
    rpc: true,
    cli: { command: 'model unload', args: ['model'], view: { text: 'detail' } }
  }
})

export function loadModel(models: ServedModels): Handler<typeof modelLoad> {
  return async ({ model: requested }, call) => {
    const { served, weights } = await models.slot(requested)
    served.check(requested)
    const use = await weights.use(call.signal)
    use.release()
    return stateOf(served)
  }
}

export function unloadModel(models: ServedModels): Handler<typeof modelUnload> {
  return async ({ model: requested }) => {
    const { served, weights } = await models.slot(requested)
    served.check(requested)
    await weights.unload()
    return stateOf(served)
  }
}

function stateOf(served: ServedModel) {
  return { name: served.name, status: served.state.status, detail: served.describe() }
}
