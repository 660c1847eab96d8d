import type { LoadedModel, ModelAdapters, NamedAdapter } from '@svc/contracts'
import { defineOperation, type Handler, isSvcError, t } from '@svc/plugin-sdk'
import type { AdapterRoots } from './adapter-roots.ts'
import { errors } from './errors.ts'
import type { ServedModel } from './served-model.ts'
import type { ServedModels } from './served-models.ts'

const {
  MSV_ADAPTER_DIRECTORY,
  MSV_ADAPTER_EXISTS,
  MSV_ADAPTER_INVALID,
  MSV_ADAPTER_UNKNOWN,
  MSV_ADAPTER_UNSUPPORTED,
  MSV_MEMORY,
  MSV_MODEL_FAILED,
  MSV_MODEL_LOADING,
  MSV_MODEL_UNKNOWN
} = errors.specs
const STATE_ERRORS = {
  MSV_ADAPTER_UNSUPPORTED,
  MSV_MEMORY,
  MSV_MODEL_FAILED,
  MSV_MODEL_LOADING,
  MSV_MODEL_UNKNOWN
}
/** Long, because the engine prepares the base model for the first adapter. */
const ADD_TIMEOUT_MS = 600_000

const name = t.string({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$',
  description: 'Name of the adapter; clients request MODEL:NAME.'
})
const model = t.optional(t.string({ minLength: 1, description: 'Name of the model; default: the first served model.' }))
const adapter = t.object({
  name,
  model: t.string({ description: 'Name of the model that clients send.' }),
  directory: t.string(),
  rank: t.integer(),
  alpha: t.number(),
  targets: t.array(t.string(), { description: 'Projections that the adapter changes.' }),
  bytes: t.integer({ description: 'Size of the factors in memory, in bytes.' })
})
const columns = ['name', 'model', 'rank', 'alpha', 'bytes', 'directory'] as const

export const adaptersList = defineOperation({
  id: 'model.adapters.list',
  summary: 'List the adapters of a model',
  input: t.object({ model }),
  output: t.object({ adapters: t.array(adapter) }),
  errors: STATE_ERRORS,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/models/adapters' },
    rpc: true,
    cli: { command: 'model adapters list', args: ['model'], view: { rows: 'adapters', columns: [...columns] } }
  }
})

export const adaptersAdd = defineOperation({
  id: 'model.adapters.add',
  summary: 'Add an adapter to a model without a reload',
  input: t.object({
    name,
    model,
    directory: t.string({
      minLength: 1,
      description: 'Run directory or PEFT directory of the adapter, relative to the project.'
    })
  }),
  output: adapter,
  errors: { ...STATE_ERRORS, MSV_ADAPTER_DIRECTORY, MSV_ADAPTER_EXISTS, MSV_ADAPTER_INVALID },
  effect: 'write',
  timeoutMs: ADD_TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/models/adapters' },
    rpc: true,
    cli: { command: 'model adapters add', args: ['name', 'directory'] }
  }
})

export const adaptersRemove = defineOperation({
  id: 'model.adapters.remove',
  summary: 'Remove an adapter; running requests may finish with it',
  input: t.object({ name, model }),
  output: t.object({ name, removed: t.boolean() }),
  errors: { ...STATE_ERRORS, MSV_ADAPTER_UNKNOWN },
  effect: 'write',
  expose: {
    http: { method: 'DELETE', path: '/api/models/adapters/:name' },
    rpc: true,
    cli: { command: 'model adapters remove', args: ['name'] }
  }
})

export function listAdapters(models: ServedModels): Handler<typeof adaptersList> {
  return async (input, call) => {
    const { served, weights } = await models.slot(input.model)
    await weights.settled(call.signal)
    const [{ adapters }] = served.variants()
    if (adapters === null) throw unsupported(served)
    return { adapters: adapters.map(each => entry(served, each)) }
  }
}

/** `changed` is called after an adapter was added. */
export function addAdapter(
  models: ServedModels,
  roots: AdapterRoots,
  changed: () => void
): Handler<typeof adaptersAdd> {
  return async (input, call) => {
    const { served, weights } = await models.slot(input.model)
    const use = await weights.use(call.signal)
    try {
      const adapters = adaptersOf(served, use.model)
      const directory = await roots.resolve(input.directory)
      const added = await adapters.add({ name: input.name, directory, signal: call.signal })
      changed()
      return entry(served, added)
    } catch (error) {
      throw fromEngine(error)
    } finally {
      use.release()
    }
  }
}

/** `changed` is called after an adapter was removed. */
export function removeAdapter(models: ServedModels, changed: () => void): Handler<typeof adaptersRemove> {
  return async (input, call) => {
    const { served, weights } = await models.slot(input.model)
    const use = await weights.use(call.signal)
    try {
      await adaptersOf(served, use.model).remove(input.name)
      changed()
    } catch (error) {
      throw fromEngine(error)
    } finally {
      use.release()
    }
    return { name: input.name, removed: true }
  }
}

function adaptersOf(served: ServedModel, { adapters }: LoadedModel): ModelAdapters {
  if (adapters === undefined) throw unsupported(served)
  return adapters
}

function unsupported(served: ServedModel): Error {
  return errors.create('MSV_ADAPTER_UNSUPPORTED', `the engine cannot add adapters to the model '${served.name}'`, {
    hint: 'Exported graphs do not support adapters. Serve the weights instead.'
  })
}

function entry(served: ServedModel, { name, directory, rank, alpha, targets, sizeBytes }: NamedAdapter) {
  return { name, model: `${served.name}:${name}`, directory, rank, alpha, targets: [...targets], bytes: sizeBytes }
}

const codes = {
  INF_ADAPTER_EXISTS: 'MSV_ADAPTER_EXISTS',
  INF_ADAPTER_INVALID: 'MSV_ADAPTER_INVALID',
  INF_ADAPTER_UNKNOWN: 'MSV_ADAPTER_UNKNOWN'
} as const

/** Maps errors of the engine to errors of this server; returns any other error unchanged. */
function fromEngine(error: unknown): unknown {
  if (!isSvcError(error) || !Object.hasOwn(codes, error.code)) return error
  return errors.create(codes[error.code as keyof typeof codes], error.message, { cause: error })
}
