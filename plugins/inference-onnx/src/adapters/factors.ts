import { setImmediate as turn } from 'node:timers/promises'
import type { LowRankFactors } from '../adapter.ts'
import { availableMemory } from '../available-memory.ts'
import { inferenceErrors } from '../errors.ts'
import type { AvailableMemory } from '../memory-plan.ts'
import { RANK_MASK } from '../onnx/linear.ts'
import { DeviceRuntime } from '../ort/device-runtime.ts'
import { type Bindings, elementCount, type Runtime, type Tensor } from '../ort/runtime.ts'
import { findNonFinite } from '../weights/finite.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import { invalidAdapter } from './invalid-adapter.ts'
import type { LowRankSite } from './sites.ts'

/**
 * Factors of one adapter in memory, and the mask under which all of them apply. All sites have the largest rank of the
 * adapter; those that it does not change, or with a lower rank, have zeroes.
 */
export class AdapterFactors {
  /** At least 1, also for an adapter that changes nothing: some devices reject empty tensors. */
  readonly rank: number
  readonly bytes: number
  readonly #mask: Tensor
  /** By the name of the graph input. */
  readonly #tensors: Map<string, Tensor>

  constructor(rank: number, mask: Tensor, tensors: ReadonlyMap<string, Tensor>) {
    this.rank = rank
    this.#mask = mask
    this.#tensors = new Map(tensors)
    this.bytes = [...tensors.values()].reduce((sum, { shape }) => sum + 4 * elementCount(shape), 0)
  }

  /** Factors and mask by the name of the graph input. */
  get inputs(): Bindings {
    return { ...Object.fromEntries(this.#tensors), [RANK_MASK]: this.#mask }
  }

  /** Returns the tensor of a graph input, `[rank, n]`. */
  tensor(name: string): Tensor {
    const tensor = this.#tensors.get(name)
    if (tensor === undefined) throw new Error(`an adapter has no factor ${name}`)
    return tensor
  }

  /** Replaces a tensor by one with the same contents. Call only when no binding uses it. */
  replace(name: string, tensor: Tensor): void {
    this.tensor(name).release()
    this.#tensors.set(name, tensor)
  }

  /** Frees the memory. Call only when no binding uses the inputs. */
  release(): void {
    for (const tensor of [...this.#tensors.values(), this.#mask]) tensor.release()
    this.#tensors.clear()
  }
}

/** Numbers moved before yielding to the event loop. */
const NUMBERS_PER_TURN = 2 ** 20

/**
 * Reads the factors of an adapter. `updates`: by the tensor that they change. Throws the reason of an aborted signal,
 * `INF_ADAPTER_INVALID` for factors that exceed float32 when they are scaled, and `INF_OUT_OF_MEMORY`.
 */
export async function readFactors(
  runtime: Runtime,
  sites: readonly LowRankSite[],
  updates: ReadonlyMap<string, LowRankFactors>,
  signal?: AbortSignal
): Promise<AdapterFactors> {
  const reader = new TensorReader()
  const tensors = new Map<string, Tensor>()
  const rank = Math.max(1, ...[...updates.values()].map(rankOf))
  if (!(runtime instanceof DeviceRuntime)) checkRoom(rank, sites, await availableMemory())
  try {
    for (const site of sites) {
      signal?.throwIfAborted()
      const { a, b } = await readSite(site, rank, updates.get(site.tensor), reader)
      tensors.set(`${site.name}.a`, await runtime.constant([rank, site.inputs], a))
      tensors.set(`${site.name}.b`, await runtime.constant([rank, site.outputs], b))
    }
    return new AdapterFactors(rank, await runtime.constant([1, rank], new Float32Array(rank).fill(1)), tensors)
  } catch (error) {
    for (const tensor of tensors.values()) tensor.release()
    throw error
  } finally {
    await reader.close()
  }
}

/** Reads the factors of one site: `a` `[rank, inputs]`, and `b` `[rank, outputs]`, scaled. */
async function readSite(
  { inputs, outputs }: LowRankSite,
  rank: number,
  update: LowRankFactors | undefined,
  reader: TensorReader
): Promise<{ readonly a: Float32Array; readonly b: Float32Array }> {
  const a = new Float32Array(rank * inputs)
  const b = new Float32Array(rank * outputs)
  if (update === undefined) return { a, b }
  const own = rankOf(update)
  await reader.read(update.a, 0, a.subarray(0, own * inputs), 'adapter')
  const up = new Float32Array(outputs * own)
  await reader.read(update.b, 0, up, 'adapter')
  let moved = 0
  for (let r = 0; r < own; r++) {
    for (let o = 0; o < outputs; o++) b[r * outputs + o] = (up[o * own + r] as number) * update.scale
    moved += outputs
    if (moved < NUMBERS_PER_TURN) continue
    moved = 0
    await turn()
  }
  if (findNonFinite(b) === -1) return { a, b }
  throw invalidAdapter(update.b.file, `${update.b.name} exceeds float32 when it is scaled by ${update.scale}`)
}

/** Throws `INF_OUT_OF_MEMORY` for more factors than fit. All sites have the largest rank, so a small file may need much. */
function checkRoom(rank: number, sites: readonly LowRankSite[], available: AvailableMemory): void {
  const bytes = 4 * rank * sites.reduce((sum, { inputs, outputs }) => sum + inputs + outputs, 0)
  if (bytes <= available.bytes) return
  throw inferenceErrors.create(
    'INF_OUT_OF_MEMORY',
    `The factors of the adapter need ${bytes} bytes with rank ${rank} in ${sites.length} projections, but ` +
      `${available.source} is ${available.bytes} bytes`,
    {
      data: { bytes, rank, availableBytes: available.bytes },
      hint: 'Free memory, or use an adapter whose largest rank is lower.'
    }
  )
}

function rankOf({ a }: LowRankFactors): number {
  return a.shape[0] as number
}
