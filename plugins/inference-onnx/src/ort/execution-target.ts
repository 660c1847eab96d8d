import type { OrtApi, Pointer } from './api.ts'

/** A device other than the CPU on which sessions compute. */
export interface ExecutionTarget {
  /** `cuda:0`, `webgpu`. */
  readonly id: string
  /** True if parts of its memory have addresses, as on CUDA; a WebGPU buffer is only known as a whole. */
  readonly addressable: boolean
  /** True if sessions may use it concurrently. WebGPU sessions share an unguarded command queue. */
  readonly concurrent: boolean
  /**
   * Makes sessions with `options` compute on it, with captures if requested. Throws
   * `INF_DEVICE_UNAVAILABLE` if it does not work.
   */
  append(api: OrtApi, environment: Pointer, options: Pointer, capture: boolean): void
  /** Enables copies between host and device memory, if that needs a step. */
  enableCopies?(api: OrtApi, environment: Pointer): void
}
