import type { Quantization } from '@svc/contracts'
import { MAX_SNAPSHOTS } from './batching/state-snapshots.ts'
import { inferenceErrors } from './errors.ts'
import type { DecoderConfig, ServedConfig } from './model-config.ts'
import { positionBytes, wholeBytes } from './onnx/cache-layout.ts'
import { BLOCK } from './onnx/linear.ts'
import { layerLinears, linearShape } from './weights/tensor-names.ts'

/** Memory available to a model. */
export interface AvailableMemory {
  readonly bytes: number
  /** Description for messages, such as `free memory of the machine`. */
  readonly source: string
}

export interface MemoryRequest {
  readonly config: DecoderConfig
  readonly quantization: Quantization
  /** True if the head has separate weights in memory. */
  readonly ownHead: boolean
  /** Bytes per number of unquantised weights, and of keys and values. */
  readonly numberBytes: number
  /** Bytes per number of an embedding that stays in its stored type. */
  readonly storedBytes: number
  /** True if the weights are in memory already and are shared; default false. */
  readonly isLoaded?: boolean
  /** `auto`: as many as fit, up to {@link MAX_SLOTS}. */
  readonly slots: number | 'auto'
  readonly contextLength: number
  /** Maximum prompt tokens per run. */
  readonly chunk: number
  readonly device: string
  /** Null if unknown; then no load is rejected. */
  readonly available: AvailableMemory | null
}

/** Like {@link MemoryRequest}, for an exported graph, whose weights are unchanged. */
export interface ExportedMemoryRequest
  extends Pick<
    MemoryRequest,
    'quantization' | 'numberBytes' | 'slots' | 'contextLength' | 'chunk' | 'device' | 'available'
  > {
  readonly config: ServedConfig
  readonly weightBytes: number
}

type PlanRequest = MemoryRequest | ExportedMemoryRequest

export interface MemoryPlan {
  readonly slots: number
  readonly weightBytes: number
  /** Size of the cache of one slot with a full context. */
  readonly slotBytes: number
  /** Size of a run's buffers: activations, logits, attention scores, rotary tables. */
  readonly workspaceBytes: number
}

/** Maximum slots for `auto`; more must be requested explicitly. */
export const MAX_SLOTS = 16
/** Context per slot that must fit at load; longer contexts allocate memory as they grow. */
const MIN_CONTEXT_TOKENS = 4096
/** Fraction of the memory that is left to other processes. */
const RESERVE = 0.05
/** Memory of the runtime itself: graph, code and buffers. */
const RUNTIME_BYTES = 64 * 2 ** 20
const FLOAT = 4

/**
 * Plans the memory of a model and its number of slots.
 *
 * Throws `INF_OUT_OF_MEMORY`, with the numbers, if the weights, a run, and contexts of up to 4,096 tokens in all slots do not
 * fit. Pure function: reads and allocates nothing.
 */
export function planMemory(request: MemoryRequest): MemoryPlan {
  const weightBytes = weightBytesOf(request)
  const workspaceBytes = workspaceBytesOf(request, minContext(request))
  return planRoom(request, weightBytes, workspaceBytes)
}

/** Like {@link planMemory}, for an exported graph: only its weights and cache are known. */
export function planServed(request: ExportedMemoryRequest): MemoryPlan {
  const { config, chunk, weightBytes } = request
  return planRoom(request, weightBytes, RUNTIME_BYTES + FLOAT * chunk * config.vocabularySize)
}

function minContext({ contextLength }: { readonly contextLength: number }): number {
  return Math.min(contextLength, MIN_CONTEXT_TOKENS)
}

function planRoom(request: PlanRequest, weightBytes: number, workspaceBytes: number): MemoryPlan {
  const { config, contextLength, available } = request
  const perPosition = (positionBytes(config) / FLOAT) * request.numberBytes
  const perSequence = wholeBytes(config)
  const context = minContext(request)
  const room = available === null ? null : available.bytes * (1 - RESERVE) - weightBytes - workspaceBytes
  const slotBytes = perPosition * contextLength + perSequence
  const slots = request.slots === 'auto' ? fittingSlots(room, slotBytes) : request.slots
  const plan = { slots, weightBytes, slotBytes, workspaceBytes }
  const cacheBytes = rowsOf(slots) * (perPosition * context + perSequence) + MAX_SNAPSHOTS * perSequence
  if (available !== null && room !== null && cacheBytes > room) throw refusal(request, plan, cacheBytes, context)
  return plan
}

/** Returns the size of all weights in the engine's representation, in bytes. */
function weightBytesOf({ config, quantization, ownHead, numberBytes, storedBytes, isLoaded }: MemoryRequest): number {
  if (isLoaded === true) return 0
  const { hiddenSize, vocabularySize } = config
  const matrix = (rows: number, columns: number) =>
    quantization === 'none' ? rows * columns * numberBytes : matrixBytes(quantization, rows, columns)
  const layerBytes = config.layerKinds.map((_, layer) =>
    layerLinears(config, layer).reduce(
      (sum, kind) => sum + matrix(...linearShape(config, kind)),
      4 * hiddenSize * FLOAT
    )
  )
  const embedding = vocabularySize * hiddenSize * (quantization === 'none' ? numberBytes : storedBytes)
  const ownMatrix = ownHead ? matrix(vocabularySize, hiddenSize) : 0
  const head = quantization === 'none' ? ownMatrix : matrixBytes('q8', vocabularySize, hiddenSize)
  return layerBytes.reduce((sum, bytes) => sum + bytes, embedding + head)
}

function matrixBytes(quantization: 'q8' | 'q4', rows: number, columns: number): number {
  if (quantization === 'q8') return rows * (columns + FLOAT)
  const blocks = Math.ceil(columns / BLOCK)
  return rows * blocks * (BLOCK / 2 + FLOAT)
}

function workspaceBytesOf(request: MemoryRequest, context: number): number {
  const { config, chunk } = request
  const { hiddenSize, headSize, heads, keyValueHeads, intermediateSize, vocabularySize } = config
  const perToken = 4 * hiddenSize + (heads + 2 * keyValueHeads) * headSize + 4 * intermediateSize + heads * context
  return RUNTIME_BYTES + FLOAT * (Math.min(chunk, context) * perToken + vocabularySize) + rotaryBytesOf(request)
}

/** Returns the size of the rotary tables: cosines and sines of each position, for each rotary embedding. */
function rotaryBytesOf({ config, contextLength, numberBytes }: MemoryRequest): number {
  const ropes = new Set([config.rope, config.windowRope])
  const pairs = [...ropes].reduce((sum, { inverseFrequencies }) => sum + inverseFrequencies.length, 0)
  return 2 * pairs * contextLength * numberBytes
}

/** Returns the number of cache rows. With several slots, a spare row is used to swap rows. */
function rowsOf(slots: number): number {
  return slots === 1 ? 1 : slots + 1
}

function fittingSlots(room: number | null, slotBytes: number): number {
  if (room === null) return 1
  const rows = Math.floor(room / slotBytes)
  return Math.max(1, Math.min(MAX_SLOTS, rows - 1))
}

function refusal(request: PlanRequest, plan: MemoryPlan, cacheBytes: number, context: number) {
  const { available, quantization, device } = request
  const needed = plan.weightBytes + plan.workspaceBytes + cacheBytes
  const slots = plan.slots === 1 ? 'one context' : `${plan.slots} contexts`
  const message =
    `The model does not fit on ${device}: ${size(plan.weightBytes)} of weights (quantization ${quantization}), ` +
    `${size(cacheBytes)} for ${slots} of ${context} tokens and ${size(plan.workspaceBytes)} of buffers ` +
    `need ${size(needed)}, but ${available?.source} is ${size(available?.bytes ?? 0)}`
  const hints = [
    ...('weightBytes' in request ? [] : fewerBits(quantization)),
    ...(plan.slots > 1 ? ['fewer slots'] : []),
    'a smaller maxContext'
  ]
  return inferenceErrors.create('INF_OUT_OF_MEMORY', message, {
    data: {
      device,
      quantization,
      slots: plan.slots,
      weightBytes: plan.weightBytes,
      cacheBytes,
      workspaceBytes: plan.workspaceBytes,
      neededBytes: needed,
      availableBytes: available?.bytes ?? 0
    },
    hint: `Load the model with ${hints.join(', or with ')}, or on a machine with more memory.`
  })
}

function fewerBits(quantization: Quantization): string[] {
  if (quantization === 'q4') return []
  return [quantization === 'q8' ? 'quantization q4' : 'quantization q8 or q4']
}

function size(bytes: number): string {
  const [value, unit] = bytes >= 2 ** 30 ? [bytes / 2 ** 30, 'GiB'] : [bytes / 2 ** 20, 'MiB']
  return `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`
}
