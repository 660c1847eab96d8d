import type { Limits } from '../completions.ts'
import { type KnownModel, type ServedModel, type ServedVariant, variantDigest } from '../served-model.ts'

/** Returns the entry of the model in `/api/tags`. */
export function tagsEntry(variant: ServedVariant): object {
  const { name, modifiedAt } = variant
  return {
    name,
    model: name,
    modified_at: modifiedAt.toISOString(),
    size: sizeOf(variant),
    digest: variantDigest(variant),
    details: detailsOf(variant)
  }
}

/** Expiry date of a model that is never unloaded. */
const NEVER = '9999-12-31T23:59:59Z'

/** Returns the entry of the model in `/api/ps`. */
export function runningEntry(variant: ServedVariant, expiresAt: Date | null): object {
  const { name, info } = variant
  const size = sizeOf(variant)
  return {
    name,
    model: name,
    size,
    digest: variantDigest(variant),
    details: detailsOf(variant),
    expires_at: expiresAt?.toISOString() ?? NEVER,
    size_vram: info.device === 'cpu' ? 0 : size,
    context_length: info.contextLength
  }
}

/** Returns the facts about the model for `/api/show`. */
export function showReply(variant: ServedVariant, limits: Limits): object {
  const { name, info, modifiedAt } = variant
  const adapter = variant.adapter ?? info.adapter
  const template = info.chatTemplate ?? ''
  const parameters = { temperature: limits.temperature, num_predict: limits.maxTokens, num_ctx: info.contextLength }
  const lines = Object.entries(parameters).map(([key, value]) => `${key.padEnd(30)} ${value}`)
  return {
    modelfile: modelfile(name, template, parameters),
    parameters: lines.join('\n'),
    template,
    details: detailsOf(variant),
    model_info: {
      'general.architecture': info.family,
      'general.parameter_count': info.parameters,
      [`${info.family}.context_length`]: info.contextLength,
      [`${info.family}.vocab_size`]: info.vocabularySize,
      ...(adapter === null
        ? {}
        : { 'adapter.type': 'lora', 'adapter.lora.alpha': adapter.alpha, 'adapter.lora.rank': adapter.rank })
    },
    capabilities: capabilitiesOf(variant),
    modified_at: modifiedAt.toISOString()
  }
}

function capabilitiesOf({ chatAbilities, infills }: KnownModel): readonly string[] {
  const { tools, thinking } = chatAbilities
  return [
    'completion',
    ...(infills() ? ['insert'] : []),
    ...(tools ? ['tools'] : []),
    ...(thinking ? ['thinking'] : [])
  ]
}

/** Returns a Modelfile of the model; its template is Jinja. */
function modelfile(name: string, template: string, parameters: Readonly<Record<string, number>>): string {
  return [
    `# Made by svc from the run directory that is served as ${name}`,
    `FROM ${name}`,
    ...(template === '' ? [] : [`TEMPLATE """${template}"""`]),
    ...Object.entries(parameters).map(([key, value]) => `PARAMETER ${key} ${value}`),
    ''
  ].join('\n')
}

/** Returns the version and the device. Clients search this text for an accelerator, so it contains nothing else. */
export function versionReply(version: string, served: ServedModel): object {
  const { known } = served
  return { version, ...(known === undefined ? {} : { device: known.info.device }) }
}

function sizeOf({ info, adapter }: ServedVariant): number {
  return adapter === null ? info.sizeBytes : adapter.sizeBytes
}

function detailsOf({ info, parent }: ServedVariant): object {
  return {
    parent_model: parent ?? '',
    format: info.format,
    family: info.family,
    families: [info.family],
    parameter_size: parameterSize(info.parameters),
    quantization_level: info.precision
  }
}

/** `3.2M`, `7.6B` */
export function parameterSize(parameters: number): string {
  const [scale, unit] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K']
  const size = parameters / (scale as number)
  return `${size >= 100 ? Math.round(size) : size.toFixed(1)}${unit}`
}
