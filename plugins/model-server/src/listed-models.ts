import { type ModelFiles, readModelFiles } from './catalogue/model-files.ts'
import { type ServedModel, type ServedVariant, variantDigest } from './served-model.ts'
import type { ModelChoices } from './wire-services.ts'

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
}

/**
 * Returns all models and their adapters. A model whose files cannot be read is left out. If the primary model is the only
 * one, throws its state until it was loaded once: `MSV_MODEL_LOADING` or `MSV_MODEL_FAILED`.
 */
export async function listModels(models: Pick<ModelChoices, 'slots'>): Promise<readonly ListedModel[]> {
  const slots = await models.slots()
  const [primary, ...others] = slots.map(({ served }) => served)
  if (primary !== undefined && others.length === 0) return primary.variants().map(listedVariant)
  return (await Promise.all(slots.map(({ served }) => listedVariants(served)))).flat()
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
