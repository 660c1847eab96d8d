import type { OrtApi, Pointer } from './api.ts'

/** Something other than the CPU that sessions can compute on. */
export interface ExecutionTarget {
  /** `cuda:0`, `webgpu`. */
  readonly id: string
  /** Whether parts of its memory have addresses of their own, as on CUDA; a WebGPU buffer is known as a whole alone. */
  readonly addressable: boolean
  /** Makes sessions with `options` compute on it. Throws `INF_DEVICE_UNAVAILABLE` when it does not work. */
  append(api: OrtApi, environment: Pointer, options: Pointer): void
}
