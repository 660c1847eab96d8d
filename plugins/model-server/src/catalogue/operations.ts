import { resolve } from 'node:path'
import { defined, defineOperation, type Handler, type Infer, type PluginContext, t } from '@svc/plugin-sdk'
import { errors } from '../errors.ts'
import { gigabytes } from '../memory-budget.ts'
import type { UnfinishedPull } from '../pull/unfinished.ts'
import type { ModelSlot, ServedModels } from '../served-models.ts'
import { MODELS_TOPIC } from '../statistics-operation.ts'
import { type Catalogue, exists } from './catalogue.ts'
import { EMBEDDING_HINT, embeddingKind } from './embedding-folder.ts'
import type { LocalStore } from './local-store.ts'
import { type ModelFiles, readModelFiles } from './model-files.ts'
import { MODEL_NAME, plainName } from './model-name.ts'

const {
  MSV_CATALOGUE,
  MSV_MODEL_CONFIGURED,
  MSV_MODEL_EXISTS,
  MSV_MODEL_NAME,
  MSV_MODEL_UNKNOWN,
  MSV_PULL_RUNNING,
  MSV_RUN_DIRECTORY
} = errors.specs

const name = t.string({ pattern: MODEL_NAME, maxLength: 200, description: 'Name that clients send.' })

const entry = t.object({
  name,
  status: t.enum(['idle', 'loading', 'ready', 'unloaded', 'failed', 'unfinished'], {
    description: 'unfinished: a download that was interrupted, or that runs. Requests cannot name it.'
  }),
  source: t.enum(['primary', 'setting', 'added', 'pulled', 'copied', 'created'], {
    description: 'primary: the model of the setting model. setting: of the setting models. Others: of a command.'
  }),
  path: t.string({ description: 'Run directory or GGUF file.' }),
  format: t.optional(t.string({ description: 'safetensors, onnx or gguf; absent if the files cannot be read.' })),
  size_bytes: t.optional(t.integer({ description: 'Size of the weights.' })),
  modified_at: t.optional(t.string()),
  problem: t.optional(t.string({ description: 'Why the files cannot be read.' })),
  notes: t.optional(t.array(t.string(), { description: 'What the model has that this server does not use.' }))
})

export const modelCatalogue = defineOperation({
  id: 'model.catalogue',
  summary: 'List the models that requests can name, and unfinished downloads',
  input: t.object({}),
  output: t.object({ models: t.array(entry) }),
  effect: 'read',
  watch: { on: [MODELS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/models/catalogue' },
    rpc: true,
    cli: {
      command: 'model catalogue',
      view: {
        rows: 'models',
        columns: ['name', 'status', 'source', 'format', 'size_bytes', 'path', 'problem', 'notes']
      }
    }
  }
})

export const modelAdd = defineOperation({
  id: 'model.add',
  summary: 'Give a run directory or GGUF file a name that requests can use',
  description: 'The first request for the model loads it.',
  input: t.object({
    name,
    path: t.string({ minLength: 1, description: 'Run directory or GGUF file, relative to the project.' })
  }),
  output: entry,
  errors: { MSV_CATALOGUE, MSV_MODEL_EXISTS, MSV_MODEL_NAME, MSV_RUN_DIRECTORY },
  effect: 'write',
  expose: {
    http: { method: 'POST', path: '/api/models/catalogue' },
    rpc: true,
    cli: { command: 'model add', args: ['name', 'path'] }
  }
})

export const modelRemove = defineOperation({
  id: 'model.remove',
  summary: 'Remove the name of a model; running requests may finish',
  description:
    'The files of a model that was pulled are deleted, unless another name uses them. Other files stay. An unfinished download of the name is deleted, too.',
  input: t.object({ name }),
  output: t.object({
    name,
    path: t.string(),
    deleted: t.boolean({ description: 'Whether its files were deleted.' })
  }),
  errors: { MSV_CATALOGUE, MSV_MODEL_CONFIGURED, MSV_MODEL_UNKNOWN, MSV_PULL_RUNNING },
  effect: 'destructive',
  expose: {
    http: { method: 'DELETE', path: '/api/models/catalogue' },
    rpc: true,
    cli: { command: 'model rm', args: ['name'] }
  }
})

export const catalogueOperations = [modelCatalogue, modelAdd, modelRemove] as const

export interface CatalogueServices {
  readonly models: ServedModels
  readonly catalogue: Catalogue
  readonly store: LocalStore
  readonly projectRoot: string
}

export function implementCatalogue(ctx: Pick<PluginContext, 'implement'>, services: CatalogueServices): void {
  ctx.implement(modelCatalogue, listCatalogue(services))
  ctx.implement(modelAdd, addModel(services))
  ctx.implement(modelRemove, ({ name: requested }) => services.store.remove(requested))
}

function listCatalogue({ models, store }: CatalogueServices): Handler<typeof modelCatalogue> {
  return async () => {
    const complete = await Promise.all((await models.slots()).map(describe))
    return { models: [...complete, ...(await store.unfinished()).map(describeUnfinished)] }
  }
}

function describeUnfinished({ model, from, folder, bytes, total, changedAt }: UnfinishedPull): Infer<typeof entry> {
  const size = total === null ? gigabytes(bytes) : `${gigabytes(bytes)} of ${gigabytes(total)}`
  const as = model === from ? '' : ` --as ${model}`
  return {
    name: model,
    status: 'unfinished',
    source: 'pulled',
    path: folder,
    size_bytes: bytes,
    modified_at: changedAt.toISOString(),
    notes: [`${size} on disk; svc model pull ${from}${as} continues, svc model rm ${model} deletes`]
  }
}

function addModel({ models, catalogue, projectRoot }: CatalogueServices): Handler<typeof modelAdd> {
  return async input => {
    const path = resolve(projectRoot, input.path)
    const { served } = models.primary
    if (plainName(input.name) === plainName(served.name)) throw exists({ name: served.name, path: served.directory })
    const files = await readModelFiles(path)
    if (files.sizeBytes === 0) {
      throw errors.create('MSV_RUN_DIRECTORY', `${path} has no weights (*.safetensors, *.onnx or *.gguf)`, {
        hint: 'Name the run directory itself, or a GGUF file.'
      })
    }
    const kind = await embeddingKind(path)
    if (kind !== null) {
      const message = `${path} has ${kind === 'reranker' ? 'a' : 'an'} ${kind}, which does not generate text`
      throw errors.create('MSV_RUN_DIRECTORY', message, { hint: EMBEDDING_HINT })
    }
    await catalogue.add({ name: input.name, path, source: 'added' })
    return describe(await models.slot(input.name))
  }
}

async function describe({ served, source }: ModelSlot): Promise<Infer<typeof entry>> {
  const { name, directory, state, defaults } = served
  const notes = defaults.notes.length === 0 ? undefined : [...defaults.notes]
  const head = { name, status: state.status, source, path: directory, ...defined({ notes }) }
  try {
    return { ...head, ...filesOf(await readModelFiles(directory)) }
  } catch (error) {
    return { ...head, ...defined({ problem: error instanceof Error ? error.message : undefined }) }
  }
}

function filesOf({ format, sizeBytes, modifiedAt }: ModelFiles) {
  return { format, size_bytes: sizeBytes, modified_at: modifiedAt.toISOString() }
}
