import type { ModelInfo } from '@svc/contracts'
import type { ReadyModel, ServedModel } from '../served-model.ts'

/** The model as `/api/tags` lists it. */
export function tagsEntry(name: string, { model, modifiedAt }: ReadyModel): object {
  const { info } = model
  return {
    name,
    model: name,
    modified_at: modifiedAt.toISOString(),
    size: info.sizeBytes,
    digest: info.digest,
    details: detailsOf(info)
  }
}

/** The model as `/api/ps` lists it: it stays until the server ends. */
export function runningEntry(name: string, { model }: ReadyModel): object {
  const { info } = model
  return {
    name,
    model: name,
    size: info.sizeBytes,
    digest: info.digest,
    details: detailsOf(info),
    expires_at: '9999-12-31T23:59:59Z',
    size_vram: info.device === 'cpu' ? 0 : info.sizeBytes,
    context_length: info.contextLength
  }
}

export function showReply({ model, modifiedAt }: ReadyModel): object {
  const { info } = model
  return {
    details: detailsOf(info),
    modified_at: modifiedAt.toISOString(),
    template: info.chatTemplate ?? '',
    capabilities: ['completion'],
    model_info: {
      'general.architecture': info.family,
      'general.parameter_count': info.parameters,
      [`${info.family}.context_length`]: info.contextLength,
      [`${info.family}.vocab_size`]: info.vocabularySize,
      ...(info.adapter === null
        ? {}
        : { 'adapter.type': 'lora', 'adapter.lora.alpha': info.adapter.alpha, 'adapter.lora.rank': info.adapter.rank })
    }
  }
}

/** Probes search this text for the name of an accelerator, so it names the device and nothing else. */
export function versionReply(version: string, served: ServedModel): object {
  const { state } = served
  return { version, ...(state.status === 'ready' ? { device: state.model.info.device } : {}) }
}

function detailsOf(info: ModelInfo): object {
  return {
    parent_model: '',
    format: 'safetensors',
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
