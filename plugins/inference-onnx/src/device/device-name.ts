import { inferenceErrors } from '../errors.ts'

/** Requested device. `auto`: a CUDA device if one works, else the CPU. */
export type DeviceRequest =
  | { readonly kind: 'auto' }
  | { readonly kind: 'cpu' }
  | { readonly kind: 'cuda'; readonly index: number }
  | { readonly kind: 'webgpu' }
  | { readonly kind: 'metal' }

/**
 * Parses `auto`, `best` (a synonym of `auto`), `cpu`, `cuda`, `cuda:N`, `webgpu` or `metal`. Throws
 * `INF_DEVICE_UNAVAILABLE`.
 */
export function parseDevice(text: string): DeviceRequest {
  if (text === 'auto' || text === 'best') return { kind: 'auto' }
  if (text === 'cpu' || text === 'webgpu' || text === 'metal') return { kind: text }
  const [cuda, index = '0'] = /^cuda(?::(\d{1,3}))?$/.exec(text) ?? []
  if (cuda !== undefined) return { kind: 'cuda', index: Number(index) }
  throw inferenceErrors.create(
    'INF_DEVICE_UNAVAILABLE',
    `Device ${JSON.stringify(text)} is not available: no device has that name`,
    {
      at: { path: 'device' },
      data: { device: text },
      hint: 'Use auto, cpu, cuda, cuda:1 (2, 3, …) or webgpu.'
    }
  )
}
