import { defined, t } from '@svc/plugin-sdk'
import { type DeviceGraphsChoice, deviceGraphsChoices } from './device/device-graphs.ts'
import { type PrecisionChoice, precisionChoices } from './device/precision.ts'

/** GPU settings. */
export const gpuSettings = {
  gpu_library_directory: t.string({
    description:
      "Folder of ONNX Runtime's CUDA provider and CUDA libraries, relative to the project. svc gpu install fills it.",
    minLength: 1,
    default: '.vox/gpu'
  }),
  gpu_precision: t.enum(precisionChoices, {
    description:
      "Precision on GPUs. auto uses the checkpoint's bfloat16 or float16 on CUDA, and float32 on WebGPU. CUDA refuses float32.",
    default: 'auto'
  }),
  device_graphs: t.enum(deviceGraphsChoices, {
    description:
      'Whether a GPU captures recurring runs and replays them, which saves CPU time. auto captures on WebGPU; on captures on CUDA too.',
    default: 'auto'
  }),
  gpu_model: t.optional(
    t.string({
      description: 'Model of the GPU. If gpu_vram_mb is set too, the driver is not queried for GPUs.',
      minLength: 1,
      'x-env': 'SVC_GPU_MODEL'
    })
  ),
  gpu_vram_mb: t.optional(
    t.integer({
      description: 'Memory of the GPU in MB. If gpu_model is set too, the driver is not queried for GPUs.',
      minimum: 1,
      'x-env': 'SVC_GPU_VRAM_MB'
    })
  ),
  vram_override_gb: t.optional(
    t.number({
      description: "GPU memory for models in GB. Overrides the driver's value.",
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

/** Converts the settings to engine options. Model and memory of the GPU apply only if both are set. */
export function gpuOptions(libraryDirectory: string, settings: GpuSettings) {
  const { gpu_precision, device_graphs, gpu_model, gpu_vram_mb, vram_override_gb } = settings
  return defined({
    libraryDirectory,
    precision: gpu_precision,
    graphs: device_graphs,
    configuredGpu:
      gpu_model === undefined || gpu_vram_mb === undefined ? undefined : { model: gpu_model, memoryMb: gpu_vram_mb },
    memoryBytes: vram_override_gb === undefined ? undefined : vram_override_gb * GIGABYTE
  })
}
