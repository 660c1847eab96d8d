import type { LoadedModel } from '@svc/contracts'
import type { Limits } from '../completions.ts'
import { fillsInTheMiddle } from '../fill-in-the-middle.ts'
import { type ServedModel, type ServedVariant, variantDigest } from '../served-model.ts'

/** The model as `/api/tags` lists it. */
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

/** The model as `/api/ps` lists it: it stays until the server ends. */
export function runningEntry(variant: ServedVariant): object {
  const { name, model } = variant
  const { info } = model
  const size = sizeOf(variant)
  return {
    name,
    model: name,
    size,
    digest: variantDigest(variant),
    details: detailsOf(variant),
    expires_at: '9999-12-31T23:59:59Z',
    size_vram: info.device === 'cpu' ? 0 : size,
    context_length: info.contextLength
  }
}

/** Facts about the model for `/api/show`. */
export function showReply(variant: ServedVariant, limits: Limits): object {
  const { name, model, modifiedAt } = variant
  const { info } = model
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
    capabilities: capabilitiesOf(model),
    modified_at: modifiedAt.toISOString()
  }
}

function capabilitiesOf(model: LoadedModel): readonly string[] {
  const { tools, thinking } = model.chatAbilities
  return [
    'completion',
    ...(fillsInTheMiddle(model) ? ['insert'] : []),
    ...(tools ? ['tools'] : []),
    ...(thinking ? ['thinking'] : [])
  ]
}

/** The model in the words of that file format; its template is Jinja. */
function modelfile(name: string, template: string, parameters: Readonly<Record<string, number>>): string {
  return [
    `# Made by svc from the run directory that is served as ${name}`,
    `FROM ${name}`,
    ...(template === '' ? [] : [`TEMPLATE """${template}"""`]),
    ...Object.entries(parameters).map(([key, value]) => `PARAMETER ${key} ${value}`),
    ''
  ].join('\n')
}

/** Probes search this text for the name of an accelerator, so it names the device and nothing else. */
export function versionReply(version: string, served: ServedModel): object {
  const { state } = served
  return { version, ...(state.status === 'ready' ? { device: state.model.info.device } : {}) }
}

function sizeOf({ model, adapter }: ServedVariant): number {
  return adapter === null ? model.info.sizeBytes : adapter.sizeBytes
}

function detailsOf({ model, parent }: ServedVariant): object {
  const { info } = model
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
