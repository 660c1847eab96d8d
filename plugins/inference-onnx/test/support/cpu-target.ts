import type { ExecutionTarget } from '../../src/ort/execution-target.ts'

/**
 * The CPU, treated as if it were a device: its memory is addressed as that of CUDA is, and, unlike drivers of WebGPU that
 * are made of software, it computes in half precision.
 */
export const cpuTarget: ExecutionTarget = { id: 'cpu-as-device', addressable: true, concurrent: true, append() {} }
