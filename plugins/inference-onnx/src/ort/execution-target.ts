import type { OrtApi, Pointer } from './api.ts'

/** Something other than the CPU that sessions can compute on. */
export interface ExecutionTarget {
  /** `cuda:0`, `webgpu`. */
  readonly id: string
  /** Whether parts of its memory have separate addresses, as on CUDA; a WebGPU buffer is known only as a whole. */
  readonly addressable: boolean
  /** Whether sessions may use it at the same time. WebGPU's share a queue of commands that nothing guards. */
  readonly concurrent: boolean
  /**
   * Makes sessions with `options` compute on it, and able to capture their runs if requested. Throws
   * `INF_DEVICE_UNAVAILABLE` when it does not work.
   */
  append(api: OrtApi, environment: Pointer, options: Pointer, capture: boolean): void
  /** Makes the library able to copy between the host's memory and the device's, where that takes something. */
  enableCopies?(api: OrtApi, environment: Pointer): void
}
