import { type ModelFiles, readModelFiles } from './catalogue/model-files.ts'
import type { ServedEmbedder } from './embeddings/served.ts'
import { type ServedModel, type ServedVariant, variantDigest } from './served-model.ts'
import type { ModelChoices, WireServices } from './wire-services.ts'

/** Model in the lists of the APIs. Properties that only a load reveals are undefined before the first one. */
export interface ListedModel {
  readonly name: string
  /** Name of the base model; null for the base model itself. */
  readonly parent: string | null
  readonly modifiedAt: Date
  /** Size of the weights, in bytes. */
  readonly sizeBytes: number
  readonly digest: string
  readonly format: string
  /** Architecture, such as `llama`; empty if unknown. */
  readonly family: string
  readonly contextLength?: number
  readonly parameters?: number
  /** Precision of the weights, such as `Q4_0`. */
  readonly precision?: string
  /** Result of the model in place of text; undefined for text. */
  readonly kind?: 'embedding' | 'reranker'
  /** Numbers of a vector. */
  readonly dimensions?: number
}

/**
 * Returns all models and their adapters, then the embedding model and the reranker. A model whose files cannot be read is
 * left out. If the primary model is the only one, throws its state until it was loaded once: `MSV_MODEL_LOADING` or
 * `MSV_MODEL_FAILED`.
 */
export async function listModels(
  services: Pick<WireServices, 'embedder' | 'reranker'> & { readonly models: Pick<ModelChoices, 'slots'> }
): Promise<readonly ListedModel[]> {
  const slots = await services.models.slots()
  const embedders = await listEmbedders(services)
  const [primary, ...others] = slots.map(({ served }) => served)
  if (primary !== undefined && others.length + embedders.length === 0) return primary.variants().map(listedVariant)
  const listed = await Promise.all(slots.map(({ served }) => listedVariants(served)))
  return [...listed.flat(), ...embedders]
}

/**
 * Returns the model or adapter with a name. Throws `MSV_MODEL_UNKNOWN`; `MSV_RUN_DIRECTORY` if its files cannot be read,
 * and for the primary model `MSV_MODEL_LOADING` or `MSV_MODEL_FAILED` until it was loaded once.
 */
export async function describeModel(
  models: Pick<ModelChoices, 'slot' | 'primary'>,
  name: string
): Promise<ListedModel> {
  const { served } = await models.slot(name)
  if (served.known !== undefined || served === models.primary.served) return listedVariant(served.find(name))
  // Its adapters are not known yet.
  if (name !== served.name && name !== `${served.name}:latest`) throw served.unknown(name)
  return listedFiles(served, await readModelFiles(served.directory))
}

async function listedVariants(served: ServedModel): Promise<readonly ListedModel[]> {
  if (served.known !== undefined) return served.variants().map(listedVariant)
  const files = await readModelFiles(served.directory).catch(() => null)
  return files === null ? [] : [listedFiles(served, files)]
}

/** Returns the embedding model and the reranker. One whose files cannot be read is left out. */
async function listEmbedders(embedders: Pick<WireServices, 'embedder' | 'reranker'>): Promise<readonly ListedModel[]> {
  const served = [embedders.embedder, embedders.reranker].flatMap(each => each ?? [])
  const listed = await Promise.all(served.map(each => describeEmbedder(each).catch(() => null)))
  return listed.flatMap(each => each ?? [])
}

/** Returns the configured embedding model or reranker of a name; null if neither has it. */
export function embedderOf(
  { embedder, reranker }: Pick<WireServices, 'embedder' | 'reranker'>,
  name: string
): ServedEmbedder | null {
  return [embedder, reranker].find(each => each?.isNamed(name)) ?? null
}

/** Describes an embedding model or a reranker. Throws `MSV_RUN_DIRECTORY` if its files cannot be read. */
export async function describeEmbedder({ name, kind, directory, known }: ServedEmbedder): Promise<ListedModel> {
  const { modifiedAt, sizeBytes, digest, format, family } = await readModelFiles(directory)
  const files = { name, parent: null, modifiedAt, format, kind }
  if (known === undefined) return { ...files, sizeBytes, digest, family }
  const { contextLength, parameters } = known
  return {
    ...files,
    // Weights in a folder inside count only once they were read.
    sizeBytes: sizeBytes === 0 ? known.sizeBytes : sizeBytes,
    digest,
    family: known.family,
    contextLength,
    parameters,
    ...(kind === 'embedding' ? { dimensions: known.dimensions } : {})
  }
}

function listedFiles(
  { name }: ServedModel,
  { modifiedAt, sizeBytes, digest, format, family }: ModelFiles
): ListedModel {
  return { name, parent: null, modifiedAt, sizeBytes, digest, format, family }
}

export function listedVariant(variant: ServedVariant): ListedModel {
  const { name, parent, info, modifiedAt, adapter } = variant
  return {
    name,
    parent,
    modifiedAt,
    sizeBytes: adapter === null ? info.sizeBytes : adapter.sizeBytes,
    digest: variantDigest(variant),
    format: info.format,
    family: info.family,
    contextLength: info.contextLength,
    parameters: info.parameters,
    precision: info.precision
  }
}
