import type { ExecutionTarget } from '#ort'

/**
 * The CPU, treated as if it were a device: its memory has addresses, as on CUDA, and it supports half precision, unlike
 * WebGPU software drivers.
 */
export const cpuTarget: ExecutionTarget = { id: 'cpu-as-device', addressable: true, concurrent: true, append() {} }
