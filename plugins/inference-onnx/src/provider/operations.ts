import { defineOperation, t } from '@svc/plugin-sdk'
import { inferenceErrors } from '../errors.ts'

const { INF_GPU_ABSENT, INF_PROVIDER_INVALID, INF_PROVIDER_DOWNLOAD_FAILED } = inferenceErrors.specs
/** Long, because a provider is hundreds of megabytes. */
const INSTALL_TIMEOUT_MS = 3_600_000

export const doctorGpu = defineOperation({
  id: 'inference.gpu.doctor',
  summary: 'Show the compute device, missing GPU requirements, and the next command',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean({ description: 'True if the configured device can be used.' }),
    device: t.string({ description: 'Default device of a load.' }),
    requested: t.string({ description: 'The configured device.' }),
    missing: t.array(t.string()),
    command: t.nullable(t.string({ description: 'The command that installs the first missing part for a GPU.' })),
    findings: t.array(
      t.object({
        subject: t.string(),
        status: t.enum(['ok', 'absent', 'warning', 'error']),
        detail: t.string(),
        hint: t.nullable(t.string())
      })
    )
  }),
  effect: 'read',
  expose: {
    rpc: true,
    cli: { command: 'doctor gpu', view: { rows: 'findings', columns: ['status', 'subject', 'detail', 'hint'] } }
  }
})

/** Input of the operation and of `svc gpu install`. */
export const installInput = t.object({
  from: t.optional(
    t.string({
      minLength: 1,
      description: 'Wheel, zip file, tar file or folder, relative to the project. Default: pip downloads a wheel.'
    })
  ),
  package: t.optional(
    t.string({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*(==[A-Za-z0-9.]+)?$',
      description: 'Requirement for pip. Default: onnxruntime-gpu in the version of the installed ONNX Runtime.'
    })
  ),
  without_gpu: t.optional(t.boolean({ description: 'Download the provider even if there is no NVIDIA GPU.' })),
  sha256: t.optional(t.string({ pattern: '^[0-9A-Fa-f]{64}$', description: 'Expected SHA-256 of the archive.' }))
})

export const installGpu = defineOperation({
  id: 'inference.gpu.install',
  summary: "Install ONNX Runtime's CUDA provider from a wheel or an archive",
  input: installInput,
  output: t.object({
    directory: t.string(),
    form: t.enum(['plugin', 'bundled']),
    version: t.string({ description: 'Version from the file names of the archive; empty if they contain none.' }),
    sha256: t.string({ description: 'SHA-256 of the archive; empty for a folder.' }),
    files: t.array(t.object({ name: t.string(), bytes: t.integer(), sha256: t.string() })),
    text: t.string()
  }),
  errors: { INF_GPU_ABSENT, INF_PROVIDER_INVALID, INF_PROVIDER_DOWNLOAD_FAILED },
  effect: 'write',
  timeoutMs: INSTALL_TIMEOUT_MS,
  concurrency: 1,
  expose: {}
})
