import type { ExecutionTarget } from '#ort'

/**
 * CPU as a device. Like CUDA, and unlike WebGPU software drivers, its memory has addresses and it supports half
 * precision.
 */
export const cpuTarget: ExecutionTarget = { id: 'cpu-as-device', addressable: true, concurrent: true, append() {} }
