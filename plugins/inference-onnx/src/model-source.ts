import { inferenceErrors } from './errors.ts'
import { type ExportedModel, readExported } from './exported/exported-model.ts'
import { type DecoderConfig, parseModelConfig } from './model-config.ts'
import type { Precision } from './onnx/graph.ts'
import type { QuantizationChoice } from './quantization.ts'
import type { RunDirectory } from './run-directory.ts'

/** Source of a decoder: weights for which a graph is built, or a complete graph. */
export type ModelSource =
  | { readonly kind: 'checkpoint'; readonly config: DecoderConfig }
  | ({ readonly kind: 'exported' } & ExportedModel)

/** Reads the source. Throws `INF_ARCHITECTURE_UNSUPPORTED` or `INF_RUN_DIR_*`, naming the field or file. */
export async function readSource(directory: RunDirectory): Promise<ModelSource> {
  const { path, exported, configuration, configurationFile, generation, gguf } = directory
  if (exported !== null) {
    return { kind: 'exported', ...(await readExported(path, exported, configuration, generation)) }
  }
  const config = parseModelConfig(configurationFile, configuration, generation)
  // Converters to GGUF add the 1 to the weights of norms.
  return { kind: 'checkpoint', config: gguf ? { ...config, zeroCentredNorms: false } : config }
}

/**
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for features that a device ignores silently, such as soft caps in WebGPU's
 * attention.
 */
export function checkDeviceAttention(attentionSoftcap: number | null, device: string): void {
  if (attentionSoftcap === null || device !== 'webgpu') return
  throw inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `attn_logit_softcapping ${attentionSoftcap} is not supported on ${device}; supported: null`,
    {
      at: { path: 'attn_logit_softcapping' },
      data: { field: 'attn_logit_softcapping', value: attentionSoftcap, supported: 'null', device },
      hint: 'Serve this model on another device, for example cpu.'
    }
  )
}

/**
 * Throws for float32 on CUDA, where ONNX Runtime 1.30 has no `GroupQueryAttention` in float32: it computes it on the
 * CPU from a copy of the cache, and logits were wrong from the second token after the prompt on.
 */
export function checkAttentionPrecision(precision: Precision, device: string, field: string): void {
  if (precision !== 'float32' || !device.startsWith('cuda')) return
  throw inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `${field} float32 is not supported on ${device}; supported: float16, bfloat16`,
    {
      at: { path: field },
      data: { field, value: precision, supported: 'float16, bfloat16', device },
      hint: 'Use half precision on this device, or serve the model on the CPU.'
    }
  )
}

/** Throws for linear attention on a device other than the CPU: no other device has been tried. */
export function checkDeviceLayers({ family, linear }: DecoderConfig, device: string): void {
  if (linear === null || device === 'cpu') return
  throw inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `layer_types linear_attention of ${family} is not supported on ${device}; supported: full_attention`,
    {
      at: { path: 'layer_types' },
      data: { field: 'layer_types', value: 'linear_attention', supported: 'full_attention', device },
      hint: 'Serve this model on the CPU.'
    }
  )
}

/** Throws `INF_OPTION_INVALID` if the requested quantisation differs from that of an exported graph. */
export function checkExportedQuantization(choice: QuantizationChoice, { quantization }: ExportedModel): void {
  if (choice === 'auto' || choice === quantization) return
  throw inferenceErrors.create(
    'INF_OPTION_INVALID',
    `quantization is ${choice}, but the exported graph is ${quantization}, and exported graphs are not converted`,
    {
      at: { path: 'quantization' },
      data: { name: 'quantization', value: choice },
      hint: 'Use auto, or serve the weights from which the graph was exported.'
    }
  )
}
