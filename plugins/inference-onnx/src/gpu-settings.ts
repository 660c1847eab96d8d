import { t } from '@svc/plugin-sdk'
import { type DeviceGraphsChoice, deviceGraphsChoices } from './device/device-graphs.ts'
import { type PrecisionChoice, precisionChoices } from './device/precision.ts'

/** Settings about GPUs. */
export const gpuSettings = {
  gpu_library_directory: t.string({
    description:
      "Folder of ONNX Runtime's CUDA provider and of CUDA's own libraries, relative to the project; svc gpu install fills it.",
    minLength: 1,
    default: '.vox/gpu'
  }),
  gpu_precision: t.enum(precisionChoices, {
    description:
      'What GPUs compute in. auto takes bfloat16 or float16 on CUDA, as the checkpoint has it, and float32 on WebGPU.',
    default: 'auto'
  }),
  device_graphs: t.enum(deviceGraphsChoices, {
    description:
      'Whether a GPU captures the runs that add a token to each sequence, and replays them from then on without work for the processor. auto does so on WebGPU; for CUDA, on asks for it, which no GPU has been seen to do yet.',
    default: 'auto'
  }),
  gpu_model: t.optional(
    t.string({
      description: 'Model of the GPU. With gpu_vram_mb, the driver is not queried for GPUs.',
      minLength: 1,
      'x-env': 'SVC_GPU_MODEL'
    })
  ),
  gpu_vram_mb: t.optional(
    t.integer({
      description: 'Memory of the GPU in MB. With gpu_model, the driver is not queried for GPUs.',
      minimum: 1,
      'x-env': 'SVC_GPU_VRAM_MB'
    })
  ),
  vram_override_gb: t.optional(
    t.number({
      description: 'Memory of the GPU in GB that models may take, whatever its driver says.',
      exclusiveMinimum: 0,
      'x-env': 'SVC_VRAM_OVERRIDE_GB'
    })
  )
}

export interface GpuSettings {
  readonly gpu_precision?: PrecisionChoice
  readonly device_graphs?: DeviceGraphsChoice
  readonly gpu_model?: string | undefined
  readonly gpu_vram_mb?: number | undefined
  readonly vram_override_gb?: number | undefined
}

const GIGABYTE = 2 ** 30

/** The settings in the engine's form. Model and memory count only as a pair. */
export function gpuOptions(libraryDirectory: string, settings: GpuSettings) {
  const { gpu_precision, device_graphs, gpu_model, gpu_vram_mb, vram_override_gb } = settings
  return {
    libraryDirectory,
    ...(gpu_precision === undefined ? {} : { precision: gpu_precision }),
    ...(device_graphs === undefined ? {} : { graphs: device_graphs }),
    ...(gpu_model === undefined || gpu_vram_mb === undefined
      ? {}
      : { stated: { model: gpu_model, memoryMb: gpu_vram_mb } }),
    ...(vram_override_gb === undefined ? {} : { memoryBytes: vram_override_gb * GIGABYTE })
  }
}
