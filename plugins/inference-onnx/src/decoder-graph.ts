import type { Quantization } from '@svc/contracts'
import { availableMemory } from './available-memory.ts'
import type { OpenDevice } from './device/devices.ts'
import { type PrecisionChoice, precisionOf } from './device/precision.ts'
import { inferenceErrors } from './errors.ts'
import type { ExportedModel } from './exported/exported-model.ts'
import { type AvailableMemory, planMemory, planServed } from './memory-plan.ts'
import type { DecoderConfig } from './model-config.ts'
import {
  checkAttentionPrecision,
  checkDeviceAttention,
  checkDeviceLayers,
  checkExportedQuantization
} from './model-source.ts'
import { buildDecoder, type DecoderWeights } from './onnx/decoder.ts'
import type { Precision } from './onnx/graph.ts'
import { type ExternalWeights, elementCount, elementBytes as numberBytes } from './ort/runtime.ts'
import { chooseQuantization, type QuantizationChoice, storedWeights } from './quantization.ts'
import { elementBytes } from './weights/convert.ts'
import { externalTensors } from './weights/external-tensors.ts'
import { type PrepareOptions, prepareWeights } from './weights/prepare.ts'
import { TensorNames } from './weights/tensor-names.ts'

/** Graph of a decoder, and the properties that a session needs. */
export interface DecoderGraph {
  readonly model: Uint8Array
  readonly weights: ExternalWeights
  /** Size in memory, in bytes. */
  readonly weightBytes: number
  readonly slots: number
  readonly parameters: number
  /** Element type or quantisation of the weights. */
  readonly precision: string
  readonly quantization: Quantization
  /** Element type of keys and values. */
  readonly cachePrecision: Precision
  /** True if each run copies whole rows of the cache. */
  readonly copiesRows: boolean
  /** True if the graph computes the argmax itself. */
  readonly argmax: boolean
  /** Reason why a device must not capture its runs; null if it may. */
  readonly uncapturable: string | null
}

/** Graph options of a load. */
export interface WantedGraph {
  readonly quantization: QuantizationChoice
  readonly slots: number | 'auto'
  readonly contextLength: number
  /** Maximum prompt tokens per run. */
  readonly chunk: number
  readonly device: OpenDevice
  /** GPU memory that may be used; undefined: the free memory that the driver reports. */
  readonly gpuMemoryBytes: number | undefined
  /** Precision on GPUs. */
  readonly gpuPrecision: PrecisionChoice
  /** True if the weights are in memory already and are shared; default false. */
  readonly isLoaded?: boolean
}

export interface BuildOptions
  extends Omit<PrepareOptions, 'config' | 'quantization' | 'keepHalf' | 'onDevice' | 'onProgress'> {
  report(step: string): (fraction: number) => void
  /** Receives notices about lost quality. */
  onNote?(note: string): void
  /** Changes the weights before the graph is built. */
  open?(weights: DecoderWeights): DecoderWeights
}

/**
 * Builds the graph of a checkpoint, after checking that it fits into memory.
 *
 * Throws `INF_OUT_OF_MEMORY` before any conversion or allocation, `INF_OPTION_INVALID` and
 * `INF_ARCHITECTURE_UNSUPPORTED` for graphs that the device cannot compute, and the errors of {@link prepareWeights}.
 */
export async function buildGraph(
  config: DecoderConfig,
  wanted: WantedGraph,
  { report, onNote = () => undefined, open = weights => weights, ...prepare }: BuildOptions
): Promise<DecoderGraph> {
  const { device, contextLength } = wanted
  const { tensors } = prepare.directory
  checkDeviceAttention(config.attentionSoftcap, device.id)
  checkDeviceLayers(config, device.id)
  const stored = storedWeights(tensors.values())
  const chosen = chooseQuantization(wanted.quantization, {
    parameters: [...tensors.values()].reduce((sum, { shape }) => sum + elementCount(shape), 0),
    device: device.id,
    stored
  })
  const quantization = checkForm(chosen, device.id)
  if (quantization === 'q4' && stored === 'blocks') {
    onNote(
      'The weights are quantised in the file, and rounding them again, to 4 bits, adds errors; q8 hardly changes them'
    )
  }
  const names = new TensorNames(name => tensors.has(name))
  const { dtype = 'F32', encoding } = tensors.get(names.embedding) ?? {}
  const precision = precisionOf(device.id, dtype, wanted.gpuPrecision)
  checkAttentionPrecision(precision, device.id, 'gpu_precision')
  // WebGPU multiplies by transposed copies, even of an embedding that is also the head.
  const fusedProducts = device.id !== 'webgpu'
  const { slots, weightBytes } = planMemory({
    ...(await roomOf(wanted)),
    config,
    quantization,
    isLoaded: wanted.isLoaded === true,
    ownHead: !fusedProducts || (config.tiedHead !== true && tensors.has(names.head)),
    numberBytes: numberBytes[precision],
    storedBytes: device.id === 'cpu' ? (encoding === undefined ? elementBytes(dtype) : 2) : numberBytes[precision]
  })
  const prepared = await prepareWeights({
    ...prepare,
    config,
    quantization,
    // Requested 4 bits are for all weights.
    keepStored: wanted.quantization === 'auto' && quantization === 'q4',
    keepHalf: precision !== 'float32',
    onDevice: device.id !== 'cpu',
    onProgress: report(quantization === 'none' ? 'converting the weights' : 'quantising the weights')
  })
  const opened = open(prepared.weights)
  return {
    model: buildDecoder(config, opened, contextLength, {
      precision,
      fusedProducts,
      argmax: device.id !== 'cpu'
    }),
    weights: { ...prepared.external, tensors: externalTensors(opened) },
    weightBytes,
    slots,
    parameters: prepared.parameters,
    precision: quantization === 'none' ? prepared.precision : quantization,
    quantization,
    cachePrecision: precision,
    copiesRows: false,
    argmax: device.id !== 'cpu',
    // ONNX Runtime 1.30 ignores the attention window when it captures on WebGPU.
    uncapturable: config.windows.some(window => window !== null) ? 'the model has sliding windows' : null
  }
}

/**
 * Returns the graph of an exported model, after checking that it fits into memory. A graph for one sequence at a time
 * gets one slot, which `onNote` reports. Throws the errors of {@link buildGraph}.
 */
export async function takeExported(
  source: ExportedModel,
  weightBytes: number,
  wanted: WantedGraph,
  onNote: (note: string) => void
): Promise<DecoderGraph> {
  const { model, config, folder, batches, parameters, precision, quantization, cachePrecision } = source
  checkExportedQuantization(wanted.quantization, source)
  checkDeviceCache(cachePrecision, wanted.device)
  checkDeviceAttention(source.attentionSoftcap, wanted.device.id)
  if (batches) checkAttentionPrecision(cachePrecision, wanted.device.id, 'past_key_values')
  const { slots } = planServed({
    ...(await roomOf(wanted)),
    config,
    quantization,
    numberBytes: numberBytes[cachePrecision],
    weightBytes
  })
  if (slots > 1 && !batches) onNote('The exported graph computes one sequence at a time, so the model gets one slot')
  return {
    model,
    weights: { folder, inMemory: new Map() },
    weightBytes,
    slots: batches ? slots : 1,
    parameters,
    precision,
    quantization,
    cachePrecision,
    // A graph that computes one sequence at a time appends to a copy of the cache.
    copiesRows: !batches,
    argmax: false,
    uncapturable: 'the graph is an export'
  }
}

/** Throws for half-precision keys and values on the CPU, where their memory is F32. */
function checkDeviceCache(precision: Precision, device: OpenDevice): void {
  if (precision === 'float32' || device.runtime !== null) return
  throw inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `past_key_values in ${precision} are not supported on ${device.id}; supported: float32`,
    {
      at: { path: 'past_key_values' },
      data: { field: 'past_key_values', value: precision, supported: 'float32', device: device.id },
      hint: 'Export the model for the CPU, or serve it on a GPU.'
    }
  )
}

async function roomOf({ slots, contextLength, chunk, device, gpuMemoryBytes }: WantedGraph) {
  const bytes = gpuMemoryBytes ?? device.freeBytes
  const gpu: AvailableMemory | null = bytes === null ? null : { bytes, source: 'the memory of the GPU' }
  const available = device.runtime === null ? await availableMemory() : gpu
  return { slots, contextLength, chunk, device: device.id, available }
}

/** Throws for 8-bit weights on a GPU: only the CPU has their operator. */
function checkForm(quantization: Quantization, device: string): Quantization {
  if (quantization !== 'q8' || device === 'cpu') return quantization
  throw inferenceErrors.create('INF_OPTION_INVALID', `quantization is q8, which is not supported on ${device}`, {
    at: { path: 'quantization' },
    data: { name: 'quantization', value: quantization, device },
    hint: 'Choose none or q4, or the device cpu.'
  })
}
