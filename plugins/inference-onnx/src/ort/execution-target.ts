import type { OrtApi, Pointer } from './api.ts'

/** Device other than the CPU on which sessions run. */
export interface ExecutionTarget {
  /** For example `cuda:0` or `webgpu`. */
  readonly id: string
  /** True if parts of a buffer have addresses, as on CUDA; a WebGPU buffer can only be used as a whole. */
  readonly addressable: boolean
  /** True if sessions may run concurrently. WebGPU sessions share a command queue that is not thread-safe. */
  readonly concurrent: boolean
  /**
   * Adds the device to session `options`, with captures if requested. Throws `INF_DEVICE_UNAVAILABLE` if it does not
   * work.
   */
  append(api: OrtApi, environment: Pointer, options: Pointer, capture: boolean): void
  /** Enables copies between host and device memory; absent if they are always enabled. */
  enableCopies?(api: OrtApi, environment: Pointer): void
}
