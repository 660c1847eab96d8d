import type { CudaProvider } from '../device/cuda-provider.ts'
import { inferenceErrors } from '../errors.ts'
import type { OrtApi, Pointer } from './api.ts'
import type { ExecutionTarget } from './execution-target.ts'

/** Returns CUDA device `index` as a target. The dependencies of the provider library must be loaded. */
export function cudaTarget(provider: CudaProvider, index: number): ExecutionTarget {
  return {
    id: `cuda:${index}`,
    addressable: true,
    concurrent: true,
    append: provider.form === 'plugin' ? appendPlugin(provider.path, index) : appendBundled(index),
    // Copies between host and device need a registered provider; runs with the bundled one do not.
    enableCopies: (api, environment) => void registeredProviders(api, environment, provider.path)
  }
}

/** Session settings that enable captures. */
const CAPTURE: readonly Setting[] = [['enable_cuda_graph', '1']]
/**
 * Session settings that enable captures with the plug-in. Its sessions share memory, so another session could reuse the
 * temporary memory of a capture. Memory that a capture allocates from CUDA's own pools belongs to the capture.
 */
const PLUGIN_CAPTURE: readonly Setting[] = [...CAPTURE, ['arena.use_cuda_mempool', '1']]

type Setting = readonly [name: string, value: string]

function cStrings(api: OrtApi, settings: readonly Setting[]) {
  const [names, values] = [api.strings(settings.map(([name]) => name)), api.strings(settings.map(([, value]) => value))]
  return { names, values, count: settings.length }
}

function appendBundled(index: number): ExecutionTarget['append'] {
  return (api, _, options, capture) => {
    const provider = api.create('CreateCUDAProviderOptions')
    try {
      const { names, values, count } = cStrings(api, [
        ['device_id', String(index)],
        // Caches double as they grow: rounding allocations up to powers of two would waste as much again.
        ['arena_extend_strategy', 'kSameAsRequested'],
        // TensorFloat-32 has 10 bits of mantissa: float32 weights would give results that depend on the batch.
        ['use_tf32', '0'],
        ...(capture ? CAPTURE : [])
      ])
      api.call('UpdateCUDAProviderOptions', provider, names.pointers, values.pointers, count)
      api.call('SessionOptionsAppendExecutionProvider_CUDA_V2', options, provider)
    } finally {
      api.release('ReleaseCUDAProviderOptions', provider)
    }
  }
}

function appendPlugin(path: string, index: number): ExecutionTarget['append'] {
  return (api, environment, options, capture) => {
    const providerNames = registeredProviders(api, environment, path)
    const devices = epDevices(api, environment).filter(device =>
      providerNames.includes(api.text('EpDevice_EpName', device))
    )
    const device = devices[index]
    if (device === undefined) {
      throw inferenceErrors.create(
        'INF_DEVICE_UNAVAILABLE',
        `Device cuda:${index} is not available: the provider ${path} found ${devices.length} GPUs`,
        { data: { device: `cuda:${index}`, found: devices.length } }
      )
    }
    const { names, values, count } = cStrings(api, capture ? PLUGIN_CAPTURE : [])
    const chosen = BigUint64Array.of(device)
    const append = 'SessionOptionsAppendExecutionProvider_V2'
    api.call(append, options, environment, chosen, 1, names.pointers, values.pointers, count)
  }
}

/** Registers a plug-in once per process; returns the names of its providers. */
function registeredProviders(api: OrtApi, environment: Pointer, path: string): readonly string[] {
  const known = api.providers.get(path)
  if (known !== undefined) return known
  const before = new Set(epDevices(api, environment))
  api.call('RegisterExecutionProviderLibrary', environment, path, path)
  const newDevices = epDevices(api, environment).filter(device => !before.has(device))
  const names = [...new Set(newDevices.map(device => api.text('EpDevice_EpName', device)))]
  api.providers.set(path, names)
  return names
}

function epDevices(api: OrtApi, environment: Pointer): Pointer[] {
  const [list, count] = [new BigUint64Array(new ArrayBuffer(8)), new BigUint64Array(new ArrayBuffer(8))]
  api.call('GetEpDevices', environment, list, count)
  return api.addresses(list[0] as Pointer, Number(count[0]))
}
